"""Maintenance windows on the timeline: dragged or by keys, over free and taken time, by operators alone."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.console.estate import HOUR, ask, host, lease_of, read
from tests.console.picture import cell, place_of, rows_of, take_the_keyboard, wait_until_drawn

if TYPE_CHECKING:
    from selenium.webdriver.remote.webelement import WebElement

    from tests.console.browser import Browser
    from tests.processes import Program


def operator(browser: Browser, service: Program, page: str) -> WebElement:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, page)
    return wait_until_drawn(browser)


def windows(service: Program) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(service, "GET", "/maintenances")["maintenances"]
    return found


def on(service: Program, browser: Browser, name: str) -> str:
    """Return the name of the host that a lease has."""
    assert service
    return next(str(row["name"]) for row in rows_of(browser) if f"'{name}'" in str(row["bars"]))


def test_a_window_is_dragged_over_who_has_the_hosts_and_says_who_would_have_to_move(
    browser: Browser, service: Program
) -> None:
    browser.allowed.add(409)
    made = lease_of(service, "in-the-way", start=6 * HOUR, hours=10, project="alt")
    canvas = operator(browser, service, "timeline?by=-&span=3d&makes=maintenance")
    start = read(made["start_date"])
    name = on(service, browser, "in-the-way")
    row = host(browser, name)
    other = row + 1
    begin, end = place_of(browser, row, start + 2 * HOUR), place_of(browser, other, start + 6 * HOUR)
    with browser.dragging(canvas, begin, end):
        said = browser.find(".tl-draft-text").text
        assert "Maintenance of 2 at once" in said
        assert "1 lease is in the way: in-the-way (alt)" in said
        browser.picture("timeline-maintenance-drag")
    dialog = browser.role("dialog", "Maintenance of 2 hosts")
    browser.until(lambda: "1 lease is in the way: in-the-way (alt)" in dialog.text)
    assert not windows(service)
    browser.role("button", "Plan it", dialog).click()
    browser.until(lambda: "can be moved" in dialog.text)
    assert not windows(service)
    browser.role("button", "Move those that can be moved", dialog).click()
    browser.until(lambda: len(windows(service)) == 1)
    [window] = windows(service)
    assert window["moved"] == [made["id"]]
    assert len(window["hosts"]) == 2
    assert start < read(window["start_date"]) < start + 3 * HOUR < read(window["end_date"])
    browser.until(lambda: "maintenance" in kinds(browser, row) and "maintenance" in kinds(browser, other))
    assert on(service, browser, "in-the-way") not in {name, rows_of(browser)[other]["name"]}


def kinds(browser: Browser, row: int) -> set[str]:
    now = datetime.now(UTC).timestamp()
    return {bar["kind"] for bar in rows_of(browser)[row]["bars"] if bar["end"] > now}  # type: ignore[attr-defined]


def test_a_window_is_made_by_keys_alone(browser: Browser, service: Program) -> None:
    operator(browser, service, "timeline?by=-&span=3d")
    browser.press("m")
    browser.until(lambda: "makes=maintenance" in browser.script("return location.hash"))
    take_the_keyboard(browser)
    browser.press(Keys.ARROW_DOWN)
    assert "cmp-02" in cell(browser)
    browser.press(Keys.ENTER)
    dialog = browser.role("dialog", "Maintenance of 1 host")
    browser.until(lambda: "cmp-02" in dialog.text)
    browser.until(lambda: "No lease is in the way." in dialog.text)
    assert browser.serious() == []
    browser.press(Keys.TAB, *"by-keys", Keys.ENTER)
    browser.until(lambda: [each["name"] for each in windows(service)] == ["by-keys"])
    browser.until(lambda: "maintenance" in kinds(browser, host(browser, "cmp-02")))
    browser.press("m")
    browser.until(lambda: "makes" not in browser.script("return location.hash"))


@pytest.mark.parametrize(("width", "dark"), [(width, dark) for width in (1440, 390) for dark in (False, True)])
def test_the_choice_is_there_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    lease_of(service, "in-the-way", start=2 * HOUR, hours=10, project="alt", hosts=3)
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, "timeline?makes=maintenance", width=width, dark=dark)
    browser.until(partial(browser.roles, "combobox", "Drag makes"))
    if width > 700:
        wait_until_drawn(browser)
    else:
        browser.role("button", "Maintenance of cmp-01").click()
        dialog = browser.role("dialog", "Maintenance of 1 host")
        browser.until(lambda: "in the way" in dialog.text)
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.picture(f"timeline-maintenance-{width}-{'dark' if dark else 'light'}")


def test_members_have_no_choice_and_the_address_gives_them_none(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline?by=-&span=3d&makes=maintenance")
    canvas = wait_until_drawn(browser)
    assert not browser.roles("combobox", "Drag makes")
    moment = datetime.now(UTC) + 20 * HOUR
    browser.drag(canvas, place_of(browser, 2, moment), place_of(browser, 2, moment + 6 * HOUR))
    browser.role("dialog", "New lease")
    browser.press(Keys.ESCAPE)
    browser.until(lambda: not browser.roles("dialog"))
    browser.press("m")
    browser.press("?")
    assert "a maintenance window" not in browser.role("dialog", "Keys").text
