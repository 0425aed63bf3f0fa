"""Where the console begins: what needs somebody, what comes next, and what is free for each kind of host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.support.select import Select

from tests.console.asking import active, lease

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False), (390, True)])
def test_it_is_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    browser.sign_in(service)
    active(browser, service, lease(service, "soon over", hours=1))
    lease(service, "tomorrow", 4, start=24)
    browser.open(service, width=width, dark=dark)
    browser.find("option[value=availability_zone]")
    Select(browser.role("combobox", "By")).select_by_value("availability_zone")
    browser.until(lambda: "zone-b" in browser.text())
    browser.picture(f"start-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_what_needs_somebody_and_what_is_free_are_seen_at_once(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    active(browser, service, lease(service, "soon over", 12, hours=1))
    lease(service, "in five hours", start=5)
    browser.open(service)
    browser.until(lambda: "next free in" in browser.text())
    needs, coming = (browser.find(f".two .card:nth-child({place})").text for place in (1, 2))
    assert ("soon over" in needs, "in five hours" in needs) == (True, False)
    assert ("soon over" in coming, "in five hours" in coming) == (False, True)
    browser.role("link", "Lease one: all hosts").click()
    browser.until(lambda: "This would be granted." in browser.text())
