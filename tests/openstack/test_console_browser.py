"""The console in a browser, on a real OpenStack: people sign in with Keystone's accounts and lease real hosts.

What the pages look like, and all that one can do on them, is tested on the sandbox, in `tests/console`.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import requests
from selenium.webdriver.support.select import Select

from tests.console.answers import noting
from tests.console.browser import Browser, running_browser, watched
from tests.console.picture import names_of, place_of, rows_of, wait_until_drawn
from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import HOST, LEASE_WITHIN, Person, minute, nothing_left
from tests.openstack.signing_in import (
    NAME,
    Device,
    account,
    expire_password,
    open_form,
    send_form,
    sign_in,
    sign_out,
    wait_until_signed_in,
)
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leasehold import RunningLeasehold

HOUR = timedelta(hours=1)
STATES = """
const { model } = document.querySelector("leasehold-timeline").given;
return Object.fromEntries(model.names.map((name, row) => [name, model.states[row]]));
"""
"""The state of each host in the picture."""
PICTURE = "timeline?by=-&span=3d"
TURNS_WITHIN = 60
"""Seconds for a health check, what is done about it, and the page that hears of it."""


@pytest.fixture(scope="module")
def site(cloud: RunningCloud) -> Iterator[RunningLeasehold]:
    """Yield a Leasehold that leases three computes and sees at once when one fails."""
    quick = {"physical:host": {"polling_interval": 1, "failure_grace": 0}}
    admin = Person(cloud, "admin")
    with running_leasehold(cloud, "console_browser", quick) as leasehold, nothing_left(admin), ExitStack() as undo:
        for name in cloud.computes[:3]:
            undo.callback(admin.blazar.host.delete, admin.blazar.host.create(name=name)["id"])
        yield leasehold


@pytest.fixture(scope="module")
def one_browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture(autouse=True)
def _only_its_own_leases(admin: Person) -> Iterator[None]:
    """Delete the leases of a test, whatever became of it."""
    yield
    for lease in admin.blazar.lease.list():
        admin.delete(lease)


@pytest.fixture
def browser(one_browser: Browser, _only_its_own_leases: None) -> Iterator[Browser]:
    """Yield the browser, which leaves the page before the leases that it shows are deleted."""
    with watched(one_browser):
        yield one_browser


@pytest.fixture
def admin(site: RunningLeasehold, cloud: RunningCloud) -> Person:
    assert site
    return Person(cloud, "admin")


@pytest.fixture
def demo(cloud: RunningCloud) -> Person:
    return Person(cloud, "demo")


@pytest.fixture
def alt(cloud: RunningCloud) -> Person:
    return Person(cloud, "alt")


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


def host_of(browser: Browser) -> str:
    """Return the name of the one host that the page of a lease shows to an operator."""
    table = browser.role("table", "What it has")
    return browser.role("rowheader", within=table).text


@pytest.fixture
def reader_of_alt(admin: Person) -> Iterator[None]:
    """Let `demo` read what the project `alt` has."""
    identity = admin.sdk.identity
    where, who, what = identity.find_project("alt"), identity.find_user("demo"), identity.find_role("reader")
    identity.assign_project_role_to_user(where, who, what)
    yield
    identity.unassign_project_role_from_user(where, who, what)


@pytest.mark.usefixtures("reader_of_alt")
def test_a_member_signs_in_goes_to_another_project_and_signs_out(
    browser: Browser, site: RunningLeasehold, demo: Person
) -> None:
    browser.allowed.add(401)
    demo.promise(HOST, minute(days=1), minute(days=2))
    open_form(browser, site, "leases")
    send_form(browser, user="demo", password="wrong")
    browser.until(partial(says, browser, "Keystone does not know this user with this password."))
    project = str(demo.sdk.current_project_id)
    send_form(browser, password=demo.cloud.password, project_optional=project)
    wait_until_signed_in(browser, "demo")
    browser.role("link", "end to end")
    Select(browser.role("combobox", "Project")).select_by_visible_text("alt")
    browser.until(partial(says, browser, "There are no leases here."))
    # A reader of the other project makes no leases there.
    assert not browser.roles("link", "New lease")
    cookies = browser.driver.execute_cdp_cmd("Network.getCookies", {"urls": [site.root]})["cookies"]
    sign_out(browser)
    shell = {"X-Leasehold-Console": "1", "Cookie": "; ".join(f"{each['name']}={each['value']}" for each in cookies)}
    assert requests.get(f"{site.root}/console/v1/leases", headers=shell, timeout=60).status_code == 401


def test_a_token_and_an_application_credential_open_their_project(
    browser: Browser, site: RunningLeasehold, demo: Person
) -> None:
    open_form(browser, site, "leases", "token")
    send_form(browser, token=str(demo.sdk.auth_token))
    wait_until_signed_in(browser, "demo")
    browser.until(partial(says, browser, "There are no leases here."))
    sign_out(browser)
    # Only what the console had from Keystone is revoked.
    assert demo.sdk.session.get(f"{demo.cloud.auth_url}/auth/projects").ok
    secret, user = str(uuid4()), demo.sdk.current_user_id
    made = demo.sdk.identity.create_application_credential(user, str(uuid4()), secret=secret)
    try:
        open_form(browser, site, "leases", "application_credential")
        send_form(browser, credential_id=made.id, credential_secret=secret)
        wait_until_signed_in(browser, "demo")
        assert browser.find(".where").text == "demo"
        sign_out(browser)
    finally:
        demo.sdk.identity.delete_application_credential(user, made.id)


def test_a_second_factor_is_asked_for(browser: Browser, site: RunningLeasehold, admin: Person) -> None:
    browser.allowed.add(401)
    device = Device()
    with account(admin, multi_factor_auth_enabled=True, multi_factor_auth_rules=[["password", "totp"]]) as careful:
        device.register(admin, careful)
        open_form(browser, site, "leases")
        send_form(browser, user=NAME, password=admin.cloud.password)
        browser.role("textbox", "Code from your second factor")
        send_form(browser, passcode=f"{(int(device.code()) + 1) % 1_000_000:06}")
        browser.until(partial(says, browser, "Keystone does not take this code."))
        # What was typed is still there.
        browser.role("button", "Begin again").click()
        browser.role("textbox", "User")
        send_form(browser)
        browser.role("textbox", "Code from your second factor")
        send_form(browser, passcode=device.code())
        wait_until_signed_in(browser, NAME)
        browser.until(partial(says, browser, "There are no leases here."))
        sign_out(browser)


def test_an_expired_password_is_replaced_in_the_form(browser: Browser, site: RunningLeasehold, admin: Person) -> None:
    browser.allowed.add(401)
    with account(admin) as careful:
        expire_password(admin.cloud, careful)
        open_form(browser, site, "leases")
        send_form(browser, user=NAME, password=admin.cloud.password)
        browser.until(partial(says, browser, "Your password has expired."))
        send_form(browser, new_password=f"{admin.cloud.password}-2")
        wait_until_signed_in(browser, NAME)
        sign_out(browser)
        assert browser.driver.find_elements("id", "field-new_password") == []
        send_form(browser, user=NAME, password=f"{admin.cloud.password}-2")
        wait_until_signed_in(browser, NAME)
        sign_out(browser)


def test_a_member_drags_takes_an_offer_extends_and_deletes(
    browser: Browser, site: RunningLeasehold, demo: Person, alt: Person
) -> None:
    browser.allowed.update((404, 409))
    alt.promise({**HOST, "min": 3, "max": 3}, minute(hours=2), minute(hours=12))
    sign_in(browser, site, demo, PICTURE)
    canvas, begin = wait_until_drawn(browser), datetime.now(UTC) + 20 * HOUR
    browser.drag(canvas, place_of(browser, 1, begin), place_of(browser, 1, begin + 6 * HOUR))
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    browser.type("name", "by mouse")
    browser.type("start", (datetime.now(UTC) + 5 * HOUR).strftime("%Y-%m-%dT%H:%M"))
    browser.until(lambda: "Not enough hosts" in dialog.text)
    browser.role("button", "Take ", dialog).click()
    browser.until(lambda: "It fits" in dialog.text)
    browser.role("button", "Create lease").click()
    browser.until(lambda: names_of(browser) == {"by mouse"})
    [made] = demo.blazar.lease.list()
    assert (made["name"], made["project_id"]) == ("by mouse", demo.sdk.current_project_id)
    browser.open(site, f"leases/{made['id']}")
    browser.role("button", "+ 1 h").click()
    browser.until(partial(says, browser, "The lease ends"))
    ends = datetime.fromisoformat(demo.blazar.lease.get(made["id"])["end_date"])
    assert ends == datetime.fromisoformat(made["end_date"]) + HOUR
    browser.role("button", "Delete").click()
    browser.role("button", "Delete", browser.role("dialog")).click()
    browser.until(partial(says, browser, "There are no leases here."))
    wait_for(lambda: demo.blazar.lease.list() == [], within=LEASE_WITHIN)


def test_a_member_swaps_the_host_of_a_server(
    browser: Browser, site: RunningLeasehold, admin: Person, demo: Person
) -> None:
    """Members see no names of hosts: they say which one they mean by a server on it."""
    browser.allowed.add(409)  # How late a lease can end is asked by trying.
    lease = demo.lease(HOST)
    server = demo.boot(
        str(demo.sdk.compute.find_flavor("m1.nano", ignore_missing=False).id), lease["reservations"][0]["id"]
    )
    assert demo.outcome(server) == "ACTIVE"
    had = admin.sdk.compute.get_server(server).compute_host
    sign_in(browser, site, demo, f"leases/{lease['id']}")
    browser.role("button", "Swap 1 host").click()
    browser.type("servers", server)
    browser.role("button", "Swap", browser.role("dialog")).click()
    browser.until(partial(says, browser, "The lease has another host."))
    wait_for(lambda: len(members(admin, lease) - {had}) == 1, within=LEASE_WITHIN)
    assert admin.sdk.compute.get_server(server).compute_host == had
    assert not set(admin.cloud.computes) & set(browser.text().split())


def members(admin: Person, lease: dict[str, Any]) -> set[str]:
    """Return the hosts that a lease has in Nova."""
    return set(admin.sdk.compute.find_aggregate(lease["reservations"][0]["id"], ignore_missing=False).hosts)


def test_an_operator_sees_the_leases_of_all_and_swaps_a_host(
    browser: Browser, site: RunningLeasehold, admin: Person, demo: Person
) -> None:
    browser.allowed.add(409)  # How late a lease can end is asked by trying.
    lease = demo.lease(HOST)
    sign_in(browser, site, admin, PICTURE)
    wait_until_drawn(browser)
    assert names_of(browser) == {"end to end"}
    assert {str(row["name"]) for row in rows_of(browser)} == set(admin.cloud.computes[:3])
    browser.open(site, f"leases/{lease['id']}")
    had = host_of(browser)
    browser.role("button", f"Swap {had}").click()
    browser.role("button", "Swap", browser.role("dialog")).click()
    browser.until(partial(says, browser, "The lease has another host."))
    wait_for(lambda: len(members(admin, lease) - {had}) == 1, within=LEASE_WITHIN)
    browser.until(lambda: {host_of(browser)} == members(admin, lease))


def test_a_failed_host_turns_on_the_open_pages_of_its_operator_and_its_owner(
    browser: Browser, site: RunningLeasehold, admin: Person, demo: Person
) -> None:
    lease = demo.lease(HOST)
    with running_browser() as other, watched(other), ExitStack() as undo:
        browser.allowed.add(409)
        sign_in(browser, site, admin, f"leases/{lease['id']}")
        name = host_of(browser)
        browser.open(site, PICTURE)
        wait_until_drawn(browser)
        other.allowed.add(409)
        sign_in(other, site, demo, f"leases/{lease['id']}")
        other.until(partial(says, other, "healthy"))
        assert browser.script(STATES)[name] == "ok"
        undo.callback(admin.set_compute, name, forced_down=False)
        admin.set_compute(name, forced_down=True)
        browser.until(lambda: browser.script(STATES)[name] != "ok", within=TURNS_WITHIN)
        other.until(partial(says, other, "something was replaced"), within=TURNS_WITHIN)
        assert name not in other.text()
        browser.open(site, "operations")
        browser.until(partial(says, browser, "A failed resource was replaced."))
        undo.close()
        browser.until(partial(says, browser, "It works again."), within=TURNS_WITHIN)


def test_no_answer_to_a_member_names_another_project(
    browser: Browser, site: RunningLeasehold, admin: Person, demo: Person, alt: Person
) -> None:
    browser.allowed.update((403, 409))
    theirs: dict[str, Any] = alt.blazar.lease.create(
        name="zebra", start="now", end=minute(hours=9), reservations=[HOST], events=[]
    )
    alt.lease_with_status(theirs["id"], "ACTIVE")
    mine = demo.lease(HOST)
    secret = {"zebra", theirs["id"], theirs["reservations"][0]["id"], theirs["user_id"], theirs["project_id"]}
    with noting(browser) as answers:
        sign_in(browser, site, demo)
        for page, words in {
            "start": "free now",
            "timeline?as=table": "end to end",
            "leases": "end to end",
            "leases/new?hosts=3": "3 asked",
            f"leases/{mine['id']}": "start lease",
            f"leases/{theirs['id']}": "Try again",
        }.items():
            browser.open(site, page)
            browser.until(partial(says, browser, words))
        told = answers()
    asked = {url.rpartition("/console/")[2].partition("?")[0] for url, _ in told}
    assert {"session", "v1/timeline", "v1/leases", "v1/availability", f"v1/leases/{mine['id']}/history"} <= asked
    named = secret | set(admin.cloud.computes)
    assert [(url, word) for url, text in told for word in named if word in text and theirs["id"] not in url] == []
