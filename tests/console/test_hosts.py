"""The page of hosts: the list, what is done with one, and maintenance of several."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.keys import Keys

from leasehold.cloud.sandbox.seed import SUGGESTED_HOSTS
from tests.console.asking import active, ask, lease

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]
MOST_TABS = 30
ALL = 12
"""The hosts of the sandbox."""
ROOMS = {name: dict(values) for name, values in SUGGESTED_HOSTS}
"""The properties of each."""


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


def give(service: Program, name: str, properties: dict[str, Any]) -> None:
    """Set properties of a host, so that the next test finds it as it was."""
    ask(service, f"os-hosts/{host(service, name)['id']}", "PUT", properties)


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


def test_a_host_that_leases_have_is_not_removed_and_one_that_is_free_is_picked_and_enrolled_again(
    browser: Browser, service: Program
) -> None:
    browser.allowed.add(409)
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
    browser.role("button", "Enrol hosts").click()
    dialog = browser.role("dialog")
    browser.role("checkbox", "cmp-07", dialog).click()
    assert "leasehold host create cmp-07 --pool reservation" in str(dialog.get_attribute("textContent"))
    browser.role("button", "Enrol 1 host", dialog).click()
    browser.until(partial(says, browser, "1 host is enrolled."))
    browser.until(lambda: "cmp-07" in names(browser))


@pytest.mark.parametrize(("width", "dark"), FORMS[::3])
def test_several_hosts_are_picked_by_the_keyboard_and_one_that_is_refused_stays(
    browser: Browser, service: Program, width: int, *, dark: bool
) -> None:
    browser.allowed.add(409)
    gone = ["cmp-05", "cmp-06", "gpu-03"]
    for name in gone:
        ask(service, f"os-hosts/{host(service, name)['id']}", "DELETE")
    operator(browser, service, width=width, dark=dark)
    browser.script("arguments[0].focus()", browser.role("button", "Enrol hosts"))
    browser.press(Keys.ENTER)
    dialog = browser.role("dialog")
    browser.until(lambda: len(browser.roles("checkbox", None, dialog)) == len(gone))
    for name in gone:
        browser.script("arguments[0].focus()", browser.role("checkbox", name, dialog))
        browser.press(Keys.SPACE)
    browser.role("button", "Enrol 3 hosts", dialog)
    browser.picture(f"hosts-enrol-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0
    ask(service, "os-hosts", "POST", {"name": "cmp-06"})
    browser.press(Keys.ENTER)
    browser.until(lambda: "cmp-06: The host cmp-06 is enrolled already;" in dialog.text)
    assert "2 hosts are enrolled." in browser.text()
    browser.until(lambda: "All hosts of the cloud are enrolled." in dialog.text)
    browser.press(Keys.ESCAPE)
    browser.until(lambda: len(names(browser)) == ALL)
    for name in gone:
        give(service, name, ROOMS[name])


def test_properties_are_set_hidden_and_removed(browser: Browser, service: Program) -> None:
    before = host(service, "cmp-02")
    operator(browser, service)
    browser.role("button", "Properties of cmp-02").click()
    dialog = browser.role("dialog")
    browser.role("button", "Remove rack", dialog).click()
    browser.role("button", "Add a property", dialog).click()
    line = len(browser.roles("button", "Remove", dialog))
    browser.type(f"name-{line}", "bench")
    browser.type(f"value-{line}", "by the door")
    browser.role("checkbox", "bench is private", dialog).click()
    script = str(dialog.get_attribute("textContent"))
    assert "leasehold host set cmp-02 --extra 'bench=by the door'" in script
    assert "leasehold host unset cmp-02 --extra rack" in script
    assert "leasehold host property set bench --private" in script
    browser.picture("hosts-properties-1440-light")
    assert browser.serious() == []
    browser.role("button", "Save", dialog).click()
    browser.until(partial(says, browser, "The properties of cmp-02 are saved."))
    assert (host(service, "cmp-02").get("rack"), host(service, "cmp-02")["bench"]) == (None, "by the door")
    known = ask(service, "os-hosts/properties?detail=1&all=1")["resource_properties"]
    assert {each["property"]: each["private"] for each in known}["bench"] is True
    browser.role("button", "Properties of cmp-02").click()
    browser.role("checkbox", "bench is private", browser.role("dialog")).click()
    browser.role("button", "Save").click()
    browser.until(lambda: not browser.roles("dialog"))
    known = ask(service, "os-hosts/properties?detail=1&all=1")["resource_properties"]
    assert {each["property"]: each["private"] for each in known}["bench"] is False
    give(service, "cmp-02", {"rack": before["rack"], "bench": None})


def test_a_property_that_is_refused_is_explained_and_nothing_is_lost(browser: Browser, service: Program) -> None:
    browser.allowed.add(400)
    operator(browser, service, width=390, dark=True)
    browser.script("arguments[0].focus()", browser.role("button", "Properties of cmp-03"))
    browser.press(Keys.ENTER)
    dialog = browser.role("dialog")
    browser.script("arguments[0].focus()", browser.role("button", "Add a property", dialog))
    browser.press(Keys.ENTER)
    line = len(browser.roles("button", "Remove", dialog)) - 1
    browser.type(f"name-{line}", "vcpus")
    browser.type(f"value-{line}", "7")
    browser.picture("hosts-properties-390-dark")
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.press(Keys.ENTER)
    browser.until(lambda: "reserved key" in browser.role("alert", None, dialog).text)
    assert browser.find(f"#field-value-{line}").get_attribute("value") == "7"


def test_maintenance_is_planned_by_the_keyboard(browser: Browser, service: Program) -> None:
    operator(browser, service)
    for role, name in (("checkbox", "Choose cmp-08"), ("button", "Maintenance of 1 host")):
        browser.script("arguments[0].focus()", browser.role(role, name))
        browser.press(Keys.SPACE)
    browser.role("dialog")
    for _ in range(MOST_TABS):
        if browser.script("return document.activeElement.id") == "field-name":
            break
        browser.press(Keys.TAB)
    browser.press("a new fan", Keys.ENTER)
    browser.until(partial(says, browser, "The maintenance is planned."))
    assert [each["name"] for each in ask(service, "maintenances")["maintenances"]] == ["a new fan"]
    # The focus is where it was before the dialog, so the next key has a meaning.
    browser.until(lambda: browser.script("return document.activeElement.tagName") != "DIALOG")
    browser.press(Keys.ESCAPE)
    assert not browser.roles("dialog")


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
    browser.until(lambda: "can be moved" in dialog.text)
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
