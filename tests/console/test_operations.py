"""The page of operations: what broke and what was done, what starts soon, audit, deliveries and refusals."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import requests
from selenium.webdriver.common.keys import Keys

from tests.console.asking import active, ask, lease
from tests.processes import BIN, Program, running, wait_for
from tests.receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.console.browser import Browser

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]
MANY = 14
"""More hosts than the sandbox has in its pool."""


@pytest.fixture(scope="module")
def one_service() -> Iterator[Program]:
    """Yield a service that sees a failed host at once, and delivers to this machine."""
    options: dict[str, dict[str, object]] = {
        "physical:host": {"polling_interval": 1, "failure_grace": 0},
        "delivery": {"http": True, "allowed_networks": "127.0.0.0/8", "retry_first_seconds": 0.05, "refused_tries": 1},
    }
    with running("leasehold-standalone", options=options) as service:
        yield service


def sandbox(service: Program, *words: str) -> None:
    """Run `leasehold-manage sandbox` on the database of a service."""
    folder = service.log.parent
    command: list[str | Path] = [
        BIN / "leasehold-manage",
        "--config-file",
        folder / "leasehold.conf",
        "sandbox",
        *words,
    ]
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "LEASEHOLD_STATE": str(folder)}
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=folder, timeout=120)


@contextmanager
def failed(service: Program, name: str) -> Iterator[None]:
    """Let a host fail, and work again after the block: no test after it finds a host less."""
    sandbox(service, "fail", name)
    try:
        yield
    finally:
        sandbox(service, "recover", name)
        wait_for(lambda: ask(service, f"os-hosts?hypervisor_hostname={name}")["hosts"][0]["reservable"], within=60)


def hosts_of(service: Program, lease_id: str) -> list[str]:
    (held,) = ask(service, f"leases/{lease_id}/resources")["reservations"]
    return [each["name"] for each in held["resources"] if not each["left"]]


def refuse(service: Program) -> None:
    """Have a request refused, and wait until it is counted."""
    body = {
        "name": "too many",
        "start_date": "2040-01-01 10:00",
        "end_date": "2040-01-01 12:00",
        "reservations": [
            {
                "resource_type": "physical:host",
                "min": MANY,
                "max": MANY,
                "hypervisor_properties": "",
                "resource_properties": "",
            }
        ],
    }
    headers = {"X-User-Id": "alice", "X-Project-Id": "demo", "X-Roles": "member", "X-User-Name": "alice"}
    answer = requests.post(f"{service.url}/leases", json=body, headers=headers, timeout=60)
    assert answer.status_code == 409, answer.text


def operator(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


def test_a_failed_host_is_a_story_that_goes_on_while_the_page_is_open(browser: Browser, service: Program) -> None:
    operator(browser, service)
    made = active(browser, service, lease(service, "broken tonight"))
    (name,) = hosts_of(service, made["id"])
    browser.open(service, "operations")
    browser.role("heading", "What broke and what was done")
    with failed(service, name):
        browser.until(partial(says, browser, f"{name} physical:host needs attention"))
        browser.until(partial(says, browser, "broken tonight over"))
        browser.until(partial(says, browser, "A failed resource was replaced."))
        browser.picture("operations-story")
    browser.until(partial(says, browser, f"{name} physical:host over"))
    browser.until(partial(says, browser, "It works again."))
    browser.role("link", "broken tonight").click()
    browser.role("heading", "broken tonight")


def test_the_owner_sees_the_host_fail_and_its_replacement_without_doing_anything(
    browser: Browser, service: Program
) -> None:
    browser.allowed.add(409)  # How late a lease can end is asked by trying.
    browser.sign_in(service)
    made = active(browser, service, lease(service, "healed"))
    (name,) = hosts_of(service, made["id"])
    browser.open(service, f"leases/{made['id']}")
    browser.until(partial(says, browser, "healthy"))
    with failed(service, name):
        browser.until(partial(says, browser, "replacement"))
        browser.until(partial(says, browser, "something was replaced"))
    assert name not in browser.text()
    # Nothing is missing, so there is nothing to replace.
    assert not browser.roles("button", "Replace what has failed")


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_the_page_is_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    operator(browser, service)
    lease(service, "starts soon", start=0.5)
    refuse(service)
    browser.until(lambda: ask(service, "refusals")["refusals"])
    browser.open(service, "operations", width=width, dark=dark)
    browser.until(partial(says, browser, "starts soon"))
    browser.until(partial(says, browser, "leasehold.resources.not_enough"))
    browser.picture(f"operations-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_what_starts_within_the_hour_is_listed_and_what_starts_later_is_not(browser: Browser, service: Program) -> None:
    operator(browser, service)
    lease(service, "later", start=3)
    lease(service, "soon", start=0.5)
    browser.open(service, "operations")
    listed = browser.role("region", "Starts within the next hour")
    assert [each.text for each in browser.roles("rowheader", None, listed)] == ["soon"]
    assert "ready" in listed.text


def test_a_refusal_says_how_many_hosts_more_would_have_granted_it(browser: Browser, service: Program) -> None:
    operator(browser, service)
    refuse(service)
    (counted, *_) = browser.until(lambda: [each for each in ask(service, "refusals")["refusals"] if each["missing"]])
    browser.open(service, "operations")
    more = browser.role("region", "How many more would have granted them: physical:host")
    assert browser.roles("rowheader", f"+ {counted['missing']}", more)
    refused = sum(each["refused"] for each in ask(service, "refusals")["refusals"])
    assert f"{refused} of {refused} requests" in more.text


def test_a_round_of_the_audit_is_asked_for_by_the_keyboard(browser: Browser, service: Program) -> None:
    operator(browser, service)
    before = browser.until(lambda: ask(service, "audit")["audit"]["ended_at"], within=90)
    browser.open(service, "operations")
    button = browser.role("button", "Ask for a round now")
    browser.script("arguments[0].focus()", button)
    browser.press(Keys.ENTER)
    browser.until(partial(says, browser, "A manager begins a round within half a minute."))
    browser.until(lambda: ask(service, "audit")["audit"]["ended_at"] != before, within=90)
    browser.until(lambda: browser.role("button", "Ask for a round now").is_enabled(), within=60)
    assert "The last round found no difference." in browser.text()


def test_deliveries_that_fail_come_first_and_go_on_after_a_replay(browser: Browser, service: Program) -> None:
    operator(browser, service)
    with receiving() as receiver:
        receiver.answer = lambda _: 503
        made = ask(service, "subscriptions", "POST", {"target": receiver.url})["subscription"]
        receiver.secret = made["secret"]
        lease(service, "told of", start=5)
        path = f"subscriptions/{made['id']}"
        browser.until(lambda: ask(service, path)["subscription"]["status"] == "failing")
        browser.open(service, "operations")
        listed = browser.role("region", "Deliveries")
        browser.until(lambda: "fails" in listed.text)
        browser.role("button", f"Dead letters of {receiver.url}").click()
        browser.role("dialog")
        browser.picture("operations-dead-letters")
        assert browser.serious() == []
        receiver.answer = lambda _: 200
        browser.role("button", "Go on where it stopped").click()
        browser.until(partial(says, browser, "The deliveries go on."))
        browser.until(lambda: "lease.create" in receiver.types())
        ask(service, path, "DELETE")


def test_a_dead_letter_is_sent_again_by_the_keyboard(browser: Browser, service: Program) -> None:
    operator(browser, service)
    with receiving() as receiver:
        receiver.answer = lambda _: 400
        wanted = {"target": receiver.url, "event_types": ["lease.create"]}
        made = ask(service, "subscriptions", "POST", wanted)["subscription"]
        receiver.secret = made["secret"]
        path = f"subscriptions/{made['id']}"
        for name in ("first", "second"):
            lease(service, name, start=5)
        letters = browser.until(lambda: _both(ask(service, f"{path}/dead-letters")["dead_letters"]))
        receiver.answer = lambda _: 200
        browser.open(service, "operations")
        browser.script("arguments[0].focus()", browser.role("button", f"Dead letters of {receiver.url}"))
        browser.press(Keys.ENTER)
        dialog = browser.role("dialog")
        second = browser.until(lambda: _both(browser.roles("button", "Replay from here", dialog)))[1]
        browser.script("arguments[0].focus()", second)
        browser.press(Keys.ENTER)
        browser.until(partial(says, browser, "The deliveries go on."))
        # From the second on: the first one stays a dead letter.
        browser.until(lambda: [each["id"] for each in receiver.events] == [letters[1]["id"]])
        assert [each["id"] for each in ask(service, f"{path}/dead-letters")["dead_letters"]][:1] == [letters[0]["id"]]
        ask(service, path, "DELETE")


def _both(found: list[Any]) -> list[Any]:
    return found if len(found) == 2 else []


def test_who_may_not_see_the_audit_has_no_link_to_the_page(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "leases")
    browser.role("link", "Leases")
    assert not browser.roles("link", "Operations")
