"""The timeline as it was known at a moment, for operators: nothing is made or changed there, and nothing moves on."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.asking import active, lease
from tests.console.estate import HOUR, ask, lease_of
from tests.console.picture import names_of, place_of, rows_of, wait_until_drawn

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

WAS = "The past: what was known at"
ADDRESS = "return location.hash"


def moment() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def then(browser: Browser, service: Program) -> str:
    """Make a lease that has begun and one that has not, and return a moment after that; then delete the first."""
    begun = active(browser, service, lease(service, "begun-then", hours=20))
    lease_of(service, "not-begun", start=6 * HOUR, hours=3)
    at = moment()
    # The database counts seconds: what happens in the same one has happened by then.
    browser.until(lambda: moment()[:19] > at[:19])
    ask(service, "DELETE", f"/leases/{begun['id']}")
    lease_of(service, "made-later", start=3 * HOUR, hours=20)
    return at


def test_operators_see_what_was_known_and_change_nothing_there(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, "timeline?by=-&span=3d")
    wait_until_drawn(browser)
    at = then(browser, service)
    browser.until(lambda: "made-later" in names_of(browser))
    browser.open(service, f"timeline?by=-&span=3d&makes=maintenance&as_of={at}")
    browser.until(lambda: WAS in browser.text())
    canvas = wait_until_drawn(browser)

    def begun() -> list[Any]:
        return [bar for row in rows_of(browser) for bar in row["bars"] if bar["name"] == "begun-then"]  # type: ignore[attr-defined]

    browser.until(lambda: names_of(browser) == {"begun-then"} and len(begun()) == 1)
    [bar] = begun()
    assert bar["kind"] == "lease"
    assert bar["end"] > (datetime.now(UTC) + 10 * HOUR).timestamp(), "as it was to be, and not as it became"
    assert "1 lease had not begun" in browser.text()
    browser.find(".tl-say summary").click()
    assert "not-begun: 1 of physical:host" in browser.text()
    assert not browser.roles("combobox", "Drag makes")
    late = datetime.now(UTC) + 30 * HOUR
    browser.drag(canvas, place_of(browser, 3, late), place_of(browser, 3, late + 6 * HOUR))
    assert not browser.roles("dialog")
    lease_of(service, "made-last", start=3 * HOUR, hours=20)
    assert browser.serious() == []
    assert names_of(browser) == {"begun-then"}
    browser.role("button", "Back to now").click()
    browser.until(lambda: names_of(browser) >= {"made-later", "made-last"})
    assert "as_of" not in browser.script(ADDRESS)
    assert WAS not in browser.text()


def test_the_moment_is_typed_and_is_in_the_address(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    browser.script(
        "const field = document.querySelector('.tl-moment'); field.value = '2025-03-01T12:30';"
        "field.dispatchEvent(new Event('change'))"
    )
    browser.until(lambda: WAS in browser.text())
    assert "as_of=2025-03-01T12%3A30" in browser.script(ADDRESS)
    browser.until(lambda: "There is nothing to lease yet" in browser.text())


@pytest.mark.parametrize(("width", "dark"), [(width, dark) for width in (1440, 390) for dark in (False, True)])
def test_nothing_is_wrong_with_the_past_in_any_form(
    browser: Browser, service: Program, width: int, *, dark: bool
) -> None:
    at = then(browser, service)
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, f"timeline?as_of={at}", width=width, dark=dark)
    browser.until(lambda: WAS in browser.text())
    browser.until(partial(browser.roles, "button", "Back to now"))
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.picture(f"timeline-past-{width}-{'dark' if dark else 'light'}")


def test_members_ask_for_the_present_alone(browser: Browser, service: Program) -> None:
    lease_of(service, "mine-now", start=3 * HOUR, hours=20)
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline?as_of=2025-03-01T12:30:00Z")
    wait_until_drawn(browser)
    assert not browser.driver.find_elements("css selector", ".tl-moment")
    assert WAS not in browser.text()
    browser.until(lambda: "mine-now" in names_of(browser))
