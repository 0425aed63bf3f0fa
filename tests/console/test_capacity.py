"""The page of capacity: what is reserved, held back and free, over past and future."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.support.select import Select

from tests.console.asking import active, lease

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]
DRAWN = """
const canvas = document.querySelector(".chart canvas");
if (!canvas) return 0;
const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
return new Set(new Uint32Array(data.buffer)).size;
"""
"""How many colours the chart has: 1 where nothing is drawn."""
UNKNOWN = "\N{EN DASH}"
ROWS = """
return [...document.querySelectorAll(".table-box tbody tr")].map((row) =>
  [...row.querySelectorAll("td")].map((cell) => cell.textContent.trim()));
"""


def operator(browser: Browser, service: Program, page: str = "capacity", **form: Any) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, page, **form)
    browser.role("heading", "Capacity")


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


def choose(browser: Browser, name: str, text: str) -> None:
    Select(browser.find(f"#field-{name}")).select_by_visible_text(text)


def rows(browser: Browser) -> list[list[str]]:
    """Return the numbers of the table: total, reserved, held back and free."""
    found: list[list[str]] = browser.script(ROWS)
    return found


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_the_page_is_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    active(browser, service, lease(service, "now", 3, hours=48))
    lease(service, "later", 5, start=60, hours=30)
    operator(browser, service, width=width, dark=dark)
    browser.until(partial(says, browser, "There are 12 hosts; 3 are reserved now, 0 are held back, 9 are free."))
    browser.until(lambda: browser.script(DRAWN) > 5)
    browser.picture(f"capacity-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_the_table_has_the_steps_of_the_future_and_of_the_past(browser: Browser, service: Program) -> None:
    active(browser, service, lease(service, "now", 3, hours=48))
    lease(service, "later", 5, start=60, hours=30)
    operator(browser, service)
    browser.until(partial(says, browser, "3 are reserved now"))
    browser.find("details > summary").click()
    ahead = [("3", "9"), ("0", "12"), ("5", "7"), ("0", "12")]
    browser.until(lambda: [(row[1], row[3]) for row in rows(browser) if row[0] != UNKNOWN] == ahead)
    # The past ends at the last whole minute, so the lease that began a moment ago may not be in it.
    past = browser.until(lambda: [row[1] for row in rows(browser) if row[0] == UNKNOWN])
    assert past[0] == "0"
    assert set(past) <= {"0", "3"}


def test_it_is_asked_about_a_property_and_the_address_keeps_it(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.until(lambda: "rack = b2" in browser.find("#field-where").text)
    choose(browser, "where", "rack = b2")
    browser.until(partial(says, browser, "There are 3 hosts;"))
    choose(browser, "days", "30")
    browser.until(lambda: "days=30" in browser.driver.current_url)
    browser.driver.refresh()
    browser.until(partial(says, browser, "There are 3 hosts;"))


def test_a_lease_that_is_made_appears_by_itself(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.until(partial(says, browser, "There are 12 hosts; 0 are reserved now"))
    lease(service, "new", 4)
    browser.until(partial(says, browser, "There are 12 hosts; 4 are reserved now"))
