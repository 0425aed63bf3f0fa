"""The page of hosts: the list, what is done with one, and maintenance of several."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.console.asking import active, ask, lease

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]
ALL = 12
"""The hosts of the sandbox."""


def operator(browser: Browser, service: Program, page: str = "hosts", **form: Any) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, page, **form)
    browser.role("heading", "Hosts")


def host(service: Program, name: str) -> dict[str, Any]:
    """Return a host by its name; nothing if none has it."""
    found: list[dict[str, Any]] = ask(service, f"os-hosts?hypervisor_hostname={name}")["hosts"]
    return found[0] if found else {}


def names(browser: Browser) -> list[str]:
    return [each.text for each in browser.roles("rowheader")]


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_the_page_is_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    made = active(browser, service, lease(service, "now"))
    lease(service, "next", 12, start=9)
    operator(browser, service, width=width, dark=dark)
    browser.until(lambda: len(names(browser)) == ALL)
    browser.until(partial(says, browser, made["id"][:8]))
    browser.picture(f"hosts-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_hosts_are_filtered_by_name_state_and_property_and_the_address_keeps_it(
    browser: Browser, service: Program
) -> None:
    operator(browser, service)
    browser.until(lambda: len(names(browser)) == ALL)
    browser.type("q", "gpu-0 healthy")
    browser.until(lambda: names(browser) == ["gpu-01.example", "gpu-02.example", "gpu-03"])
    operator(browser, service, "hosts?q=cmp-05")
    browser.until(lambda: names(browser) == ["cmp-05"])
    browser.type("q", "nothing like that")
    browser.until(partial(says, browser, "No host matches."))


def test_a_host_is_disabled_with_a_reason_by_the_keyboard_and_enabled_again(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.script("arguments[0].focus()", browser.role("button", "Change cmp-05"))
    browser.press(Keys.ENTER)
    browser.role("dialog")
    browser.type("disabled_reason", "a fan is loud")
    assert "leasehold host set cmp-05 --disable 'a fan is loud'" in str(
        browser.script("return document.querySelector('dialog').textContent")
    )
    browser.picture("hosts-change")
    assert browser.serious() == []
    browser.script("arguments[0].focus()", browser.role("button", "Disable", browser.role("dialog")))
    browser.press(Keys.ENTER)
    browser.until(partial(says, browser, "cmp-05 is disabled."))
    browser.until(partial(says, browser, "a fan is loud"))
    assert host(service, "cmp-05")["disabled_reason"] == "a fan is loud"
    browser.role("button", "Change cmp-05").click()
    browser.role("button", "Enable", browser.role("dialog")).click()
    browser.until(lambda: not host(service, "cmp-05")["disabled"])
    browser.until(lambda: "a fan is loud" not in browser.text())


def test_a_host_is_given_back_and_drawn_again(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.role("button", "Change cmp-06").click()
    browser.role("button", "Give back to the shared pool").click()
    browser.until(lambda: host(service, "cmp-06")["pool"] == "shared")
    browser.until(lambda: not browser.roles("dialog"))
    browser.role("button", "Change cmp-06").click()
    browser.role("button", "Draw into the reservation pool").click()
    browser.until(lambda: host(service, "cmp-06")["pool"] == "reservation")


def test_a_host_that_leases_have_is_not_removed_and_one_that_is_free_can_be_enrolled_again(
    browser: Browser, service: Program
) -> None:
    browser.allowed.update({404, 409})
    lease(service, "has all", 12, start=9)
    operator(browser, service)
    browser.role("button", "Change cmp-07").click()
    dialog = browser.role("dialog")
    browser.role("button", "Remove", dialog).click()
    browser.role("alert", None, dialog)
    assert host(service, "cmp-07")
    for each in ask(service, "leases")["leases"]:
        ask(service, f"leases/{each['id']}", "DELETE")
    browser.until(lambda: not ask(service, "leases")["leases"])
    browser.role("button", "Remove", dialog).click()
    browser.until(partial(says, browser, "cmp-07 is removed."))
    browser.until(lambda: "cmp-07" not in names(browser))
    browser.role("button", "Enrol a host").click()
    browser.type("name", "no-such-host")
    browser.press(Keys.ENTER)
    browser.until(lambda: "no-such-host" in browser.find("#error-name").text)
    browser.type("name", "cmp-07")
    browser.press(Keys.ENTER)
    browser.until(partial(says, browser, "cmp-07 is enrolled."))
    browser.until(lambda: "cmp-07" in names(browser))


def test_maintenance_says_who_would_have_to_move_and_moves_them(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    made = lease(service, "in the way", 2, start=0.2, hours=48)
    (held,) = ask(service, f"leases/{made['id']}/resources")["reservations"]
    (name, *_) = [each["name"] for each in held["resources"]]
    operator(browser, service)
    browser.role("checkbox", f"Choose {name}").click()
    browser.role("button", "Maintenance of 1 host").click()
    dialog = browser.role("dialog")
    browser.role("button", "Plan it", dialog).click()
    browser.until(lambda: "1 lease has these hosts" in dialog.text)
    assert "can be moved" in dialog.text
    assert "--on-conflict move" in str(dialog.get_attribute("textContent"))
    browser.picture("hosts-maintenance")
    assert browser.serious() == []
    browser.role("button", "Move those that can be moved", dialog).click()
    browser.until(partial(says, browser, "The maintenance is planned: 1 moved, 0 warned."))
    (window,) = ask(service, "maintenances")["maintenances"]
    assert window["moved"] == [made["id"]]
    (held,) = ask(service, f"leases/{made['id']}/resources")["reservations"]
    assert name not in [each["name"] for each in held["resources"] if not each["left"]]


def test_maintenance_over_a_lease_that_has_started_warns_its_owner(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    made = active(browser, service, lease(service, "started", hours=48))
    (held,) = ask(service, f"leases/{made['id']}/resources")["reservations"]
    (name,) = [each["name"] for each in held["resources"]]
    operator(browser, service)
    browser.role("checkbox", f"Choose {name}").click()
    browser.role("button", "Maintenance of 1 host").click()
    dialog = browser.role("dialog")
    browser.role("button", "Plan it", dialog).click()
    browser.until(lambda: "has started" in dialog.text)
    browser.role("button", "warn those that have started", dialog).click()
    browser.until(partial(says, browser, "The maintenance is planned: 0 moved, 1 warned."))


def test_who_may_not_list_hosts_has_no_link_to_the_page(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "leases")
    browser.role("link", "Leases")
    assert not browser.roles("link", "Hosts")
