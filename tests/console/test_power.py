"""The page of power: machines that sleep, what they wait for, what can be done with them, and what that saves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert, update

from leasehold.cmd.state import DATABASE_NAME
from leasehold.db.engine import open_engine, writing
from leasehold.features.power.model import Outcome
from leasehold.features.power.store import delays, machines, sleeps
from tests.console.asking import ask, lease
from tests.console.test_capacity import DRAWN
from tests.processes import Program, running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from tests.console.browser import Browser

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]
SPARES, KEPT = 4, 2
DAYS = 12
"""For how long hosts have slept at night."""
REASON = "It could not be switched off: the controller does not answer."


@pytest.fixture(scope="module")
def one_service() -> Iterator[Program]:
    """Yield a service whose idle hosts sleep, but for some, and have done so for days; one machine is in trouble."""
    options: dict[str, dict[str, object]] = {
        "power": {
            "classes": "r740",
            "idle_seconds": 0,
            "least_on_seconds": 0,
            "least_off_seconds": 0,
            "spares": SPARES,
            "at_once": 20,
            "every_seconds": 1,
        },
        "power:r740": {"driver": "sandbox", "watts_on": 110, "watts_off": 8},
    }
    with running("leasehold-standalone", options=options) as service:
        hosts = ask(service, "os-hosts")["hosts"]
        numbers = [int(each["id"]) for each in hosts]
        add_history(service, numbers[:6])
        for place, each in enumerate(hosts):
            body = {"power_class": "r740", "address": each["service_name"], "kept_on": place < KEPT}
            ask(service, f"power/hosts/{each['id']}", "PUT", body)
        trouble = update(machines).where(machines.c.resource_number == numbers[1])
        with writing(engine_of(service)) as connection:
            connection.execute(trouble.values(failure=REASON, failed_at=datetime.now(UTC)))
        wait_for(lambda: stages(service).count("asleep") == len(hosts) - SPARES - KEPT, within=90)
        yield service


def engine_of(service: Program) -> Engine:
    return open_engine(f"sqlite:///{service.log.parent / DATABASE_NAME}")


def stages(service: Program) -> list[str]:
    return [each["stage"] for each in ask(service, "power/hosts")["machines"]]


def add_history(service: Program, numbers: list[int]) -> None:
    """Let hosts have slept in past nights, fewer each time, with one that did not come up and some requests delayed."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hour, rows = timedelta(hours=1), []
    for night in range(DAYS):
        for place, number in enumerate(numbers[: 2 + night % 5]):
            begin = midnight - timedelta(days=night + 1) + 2 * hour
            woken = begin + (5 + place) * hour
            took = timedelta(seconds=200 + 10 * place + night)
            row = {"resource_number": number, "power_class": "r740", "takes_seconds": 900, "decided_at": begin}
            row |= {"stopped_at": begin, "off_at": begin + hour / 30, "woken_at": woken, "ready_at": woken + took}
            failed = night == 4 and place == 1
            rows.append(row | {"outcome": Outcome.FAILED if failed else Outcome.READY, "late": int(failed)})
    counted = [
        {
            "day": midnight - timedelta(days=night),
            "power_class": "r740",
            "zone": "zone-a",
            "requests": 3,
            "seconds": 1500,
        }
        for night in (3, 4)
    ]
    with writing(engine_of(service)) as connection:
        connection.execute(insert(sleeps), rows)
        connection.execute(insert(delays), counted)


def operator(browser: Browser, service: Program, **form: bool | int) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, "power", **form)  # type: ignore[arg-type]
    browser.role("heading", "Power")


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_the_page_is_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    lease(service, "tonight", 7, start=5)
    operator(browser, service, width=width, dark=dark)
    browser.until(partial(says, browser, "asleep"))
    browser.until(lambda: browser.script(DRAWN) > 3)
    browser.picture(f"power-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_what_each_machine_waits_for_is_said(browser: Browser, service: Program) -> None:
    lease(service, "tonight", 7, start=5)
    operator(browser, service)
    browser.until(partial(says, browser, "Its next start, ahead of which it is woken"))
    text = browser.text()
    assert "Nothing: it is kept on" in text
    assert f"A person: it stays on. {REASON}" in text
    assert "1 late start, 6 requests delayed" in text
    browser.find("details:has(table) > summary").click()
    browser.until(partial(says, browser, "25 min"))
    browser.script("document.querySelector('.charts').scrollIntoView()")
    browser.picture("power-report")
    assert browser.serious() == []


def test_a_machine_is_woken_and_trusted_and_kept_on(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.until(lambda: browser.roles("button", "Wake: "))
    name = str(browser.roles("button", "Wake: ")[-1].get_attribute("aria-label")).removeprefix("Wake: ")
    # It may sleep again within a second, unless it is kept on.
    browser.role("button", f"Keep on: {name}").click()
    browser.role("button", f"Let it sleep: {name}")
    browser.role("button", f"Wake: {name}").click()
    browser.until(partial(says, browser, f"{name} is woken within seconds."))
    browser.until(lambda: not browser.roles("button", f"Wake: {name}"))
    found = next(each for each in ask(service, "power/hosts")["machines"] if each["hypervisor_hostname"] == name)
    assert (found["kept_on"], found["stage"] in ("waking", "on")) == (True, True)
    trusted = browser.role("button", "It works again: ")
    trusted.click()
    browser.until(partial(says, browser, "may sleep again."))
    assert not browser.roles("button", "It works again: ")
    assert all(each["failure"] is None for each in ask(service, "power/hosts")["machines"])


def test_members_have_no_such_page(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "leases")
    browser.role("link", "Leases")
    assert not browser.roles("link", "Power")


def test_a_lease_that_has_to_wait_for_sleeping_hosts_is_had_by_one_click(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    browser.sign_in(service)
    browser.open(service, "leases/new?hosts=9")
    browser.until(partial(says, browser, "What would do is ready in"))
    browser.picture("new-lease-asleep")
    browser.role("button", "Take it as soon as it is ready").click()
    browser.until(partial(says, browser, "as soon as it is ready."))
    browser.picture("new-lease-ready-within")
    assert "--ready-within" in str(browser.find("details.how pre").get_attribute("textContent"))
    browser.role("button", "Lease it").click()
    (made,) = browser.until(lambda: ask(service, "leases")["leases"])
    assert datetime.fromisoformat(made["start_date"]).replace(tzinfo=UTC) > datetime.now(UTC) + timedelta(minutes=3)
