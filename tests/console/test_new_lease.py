"""A lease is asked for in the console: answers while one types, counter-offers that are taken, and ways to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.support.select import Select

from tests.console.asking import ask, lease

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False), (390, True)])
def test_the_form_and_its_answers_are_readable(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    browser.allowed.add(409)
    browser.sign_in(service)
    browser.open(service, "leases/new?hosts=40", width=width, dark=dark)
    browser.until(lambda: "Not like this." in browser.text())
    browser.find(".which summary").click()
    browser.role("checkbox", "a1")
    browser.picture(f"new-lease-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_a_refusal_becomes_a_lease_by_two_buttons(browser: Browser, service: Program) -> None:
    """Twelve hosts are asked for while three are leased: nine of them would do, and are taken."""
    browser.allowed.add(409)
    browser.sign_in(service)
    lease(service, "in the way", 3)
    browser.open(service, "leases/new")
    browser.type("name", "nine")
    browser.until(lambda: "This would be granted." in browser.text())
    browser.type("count-0", "12")
    browser.until(lambda: "12 asked, 9 free" in browser.text())
    assert browser.role("button", "Lease it").get_attribute("disabled")
    assert browser.role("button", ", for 3 h").text.startswith("Take ")
    browser.role("button", "Take 9 hosts instead").click()
    browser.until(lambda: "This would be granted." in browser.text())
    browser.role("button", "Lease it").click()
    browser.role("heading", "nine")
    (made,) = (each for each in ask(service, "leases")["leases"] if each["name"] == "nine")
    assert made["reservations"][0]["max"] in {9, "9"}


def test_conditions_are_chosen_and_not_typed(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    browser.sign_in(service)
    browser.open(service, "leases/new")
    browser.type("name", "in a1")
    browser.type("purpose", "Measure the switch")
    browser.find(".which summary").click()
    browser.role("checkbox", "a1").click()
    browser.until(lambda: "This would be granted." in browser.text())
    browser.find(".how summary").click()
    assert """'resource_type=physical:host,min=1,max=1,resource_properties=["==","$rack","a1"]'""" in browser.text()
    browser.role("button", "Lease it").click()
    browser.role("heading", "in a1")
    browser.until(lambda: "Measure the switch" in browser.text())
    (made,) = ask(service, "leases")["leases"]
    assert made["purpose"] == "Measure the switch"
    assert made["reservations"][0]["resource_properties"] == '["==","$rack","a1"]'


def test_an_offer_is_held_with_a_countdown_and_taken(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "leases/new?hosts=2")
    browser.role("button", "Hold it for me").click()
    browser.until(lambda: "Held for you until" in browser.text())
    assert [each["lease"]["status"] for each in ask(service, "offers")["offers"]] == ["OFFERED"]
    browser.role("button", "Take it").click()
    browser.until(lambda: [each["name"] for each in ask(service, "leases")["leases"]] == ["lease"])


def test_what_does_not_fit_waits(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    browser.sign_in(service)
    lease(service, "in the way", 12)
    browser.open(service, "leases/new")
    browser.role("button", "Wait until it fits").click()
    browser.until(lambda: "waiting to be granted" in browser.text())


def test_a_series_has_a_verdict_for_each_occurrence(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    browser.sign_in(service)
    lease(service, "in the way", 12, start=23, hours=3)
    browser.open(service, "leases/new")
    Select(browser.role("combobox", "Repeats")).select_by_value("daily")
    browser.type("times", "3")
    browser.role("button", "Ask for all of them").click()
    browser.until(lambda: len(browser.roles("link", "granted")) == 2)
    assert "0 free" in browser.text()
