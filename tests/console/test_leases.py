"""The pages of leases: the list, and one lease, which is extended, swapped, given back and deleted."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.asking import active, ask, lease

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_both_pages_are_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    browser.allowed.add(409)  # How late a lease can end is asked by trying.
    browser.sign_in(service)
    made = active(browser, service, lease(service, "mine"))
    lease(service, "later", 2, start=5)
    for page, says in (("leases", "later"), (f"leases/{made['id']}", "1 host")):
        browser.open(service, page, width=width, dark=dark)
        browser.until(partial(_says, browser, says))
        browser.picture(f"{page.split('/')[0]}{'-one' if '/' in page else ''}-{width}-{'dark' if dark else 'light'}")
        assert browser.serious() == []
        assert browser.overflow() == 0


def _says(browser: Browser, words: str) -> bool:
    return words in browser.text()


def test_what_needs_somebody_comes_first_and_leases_are_deleted_together(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    for name, start in (("far", 50.0), ("farther", 99.0)):
        lease(service, name, start=start)
    active(browser, service, lease(service, "soon over", hours=1))
    browser.open(service, "leases")
    browser.role("link", "soon over")
    names = [each.text for each in browser.roles("rowheader")]
    assert names == ["soon over", "far", "farther"]
    for name in ("far", "farther"):
        browser.role("checkbox", f"Choose {name}").click()
    browser.role("button", "Delete 2 leases").click()
    browser.role("button", "Keep it").click()
    assert len(ask(service, "leases")["leases"]) == 3
    browser.role("button", "Delete 2 leases").click()
    browser.role("button", "Delete", browser.role("dialog")).click()
    browser.until(lambda: [each.text for each in browser.roles("rowheader")] == ["soon over"])


def test_a_lease_is_extended_as_far_as_it_fits(browser: Browser, service: Program) -> None:
    """The other lease has all hosts from four hours after the end on: an hour more fits, a day does not."""
    browser.allowed.add(409)
    browser.sign_in(service)
    made = active(browser, service, lease(service, "mine", hours=2))
    end = datetime.fromisoformat(made["end_date"])
    later = lease(service, "all of them", 12, start=6, hours=90)
    browser.open(service, f"leases/{made['id']}")
    browser.until(lambda: browser.role("button", "+ 1 d").get_attribute("disabled"))
    # The service names whole minutes.
    most = datetime.fromisoformat(later["start_date"]).replace(second=0)
    browser.role("button", f"until {most.day} ")
    browser.role("button", "+ 1 h").click()
    browser.until(lambda: "The lease ends" in browser.text())
    now = ask(service, f"leases/{made['id']}")["lease"]
    assert datetime.fromisoformat(now["end_date"]) == end + timedelta(hours=1)
    browser.type("end_date", (most + timedelta(hours=1)).isoformat(timespec="minutes")[:16])
    browser.role("button", "Set the end").click()
    browser.until(lambda: "It can be extended until" in browser.find("#error-end_date").text)
    browser.role("button", f"until {most.day} ").click()
    browser.until(lambda: datetime.fromisoformat(_end(service, made)) == most)


def _end(service: Program, made: dict[str, Any]) -> str:
    return str(ask(service, f"leases/{made['id']}")["lease"]["end_date"])


def test_a_host_is_swapped_and_one_is_given_back(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    made = active(browser, service, lease(service, "two", 2))
    hint = f"--reservation {made['reservations'][0]['id']}"
    command = f"leasehold-manage sandbox boot --project demo --flavor FLAVOR {hint} NAME"
    had = _hosts(service, made)
    browser.open(service, f"leases/{made['id']}")
    browser.until(lambda: command in browser.text())
    browser.role("button", f"Swap {had[0]}").click()
    browser.role("button", "Swap", browser.role("dialog")).click()
    browser.until(lambda: "The lease has another host." in browser.text())
    swapped = browser.until(
        lambda: [each for each in _hosts(service, made) if each not in had] and _hosts(service, made)
    )
    assert had[0] not in swapped
    browser.until(lambda: browser.roles("button", f"Give back {had[1]}"))
    browser.role("button", f"Give back {had[1]}").click()
    browser.role("button", "Give back", browser.role("dialog")).click()
    browser.until(lambda: had[1] not in _hosts(service, made))


def _hosts(service: Program, made: dict[str, Any]) -> list[str]:
    """Return the names of the hosts that a lease has and has not left."""
    (held,) = ask(service, f"leases/{made['id']}/resources")["reservations"]
    return [each["name"] for each in held["resources"] if not each["left"]]


def test_a_lease_is_deleted_once_it_was_asked_about(browser: Browser, service: Program) -> None:
    browser.allowed.add(404)
    browser.sign_in(service)
    made = lease(service, "not wanted", start=5)
    browser.open(service, f"leases/{made['id']}")
    browser.role("button", "Delete").click()
    browser.role("button", "Keep it").click()
    browser.until(lambda: not browser.roles("dialog"))
    browser.role("button", "Delete").click()
    browser.role("button", "Delete", browser.role("dialog")).click()
    browser.until(lambda: "There are no leases here" in browser.text())
    browser.open(service, f"leases/{made['id']}")
    browser.until(lambda: "There is no such lease" in browser.text())


def test_what_happens_is_seen_while_the_page_is_open(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    made = lease(service, "live", start=5)
    browser.open(service, f"leases/{made['id']}")
    browser.role("heading", "live")
    ask(service, f"leases/{made['id']}", "PUT", {"name": "renamed"})
    browser.until(lambda: browser.roles("heading", "renamed"))
    browser.until(lambda: "live" in browser.text() and "→" in browser.text())
