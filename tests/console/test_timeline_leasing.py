"""Leases made and extended on the timeline, with the mouse and by keys."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from selenium.webdriver.common.keys import Keys

from tests.console.estate import BIG, HOUR, host, lease_of, leases, read
from tests.console.picture import cell, names_of, place_of, rows_of, take_the_keyboard, wait_until_drawn

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program


def test_a_lease_is_made_by_keys_alone(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    wait_until_drawn(browser)
    take_the_keyboard(browser)
    browser.press(Keys.ARROW_DOWN)
    assert "cmp-02" in cell(browser)
    browser.press(Keys.ENTER)
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    browser.press(*"by-keys", Keys.NULL)
    browser.until(lambda: "It fits" in dialog.text)
    browser.press(Keys.ENTER)
    browser.until(lambda: [lease["name"] for lease in leases(service)] == ["by-keys"])
    browser.until(lambda: names_of(browser) == {"by-keys"})


def test_a_drag_stops_before_the_next_bar_and_makes_the_lease(browser: Browser, service: Program) -> None:
    theirs = lease_of(
        service, "theirs", start=20 * HOUR, hours=10, project="alt", properties='["==", "$rack", "a1"]', hosts=3
    )
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    canvas = wait_until_drawn(browser)
    row, stop = host(browser, "cmp-02"), read(theirs["start_date"])
    begin = place_of(browser, row, stop - 12 * HOUR)
    with browser.dragging(canvas, begin, place_of(browser, row, stop + 4 * HOUR)):
        said = browser.find(".tl-draft-text.stopped").text
        assert "the next one begins" in said
        assert stop.strftime("%H:%M") in said
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "cmp-02" in dialog.text)
    browser.until(lambda: "It fits" in dialog.text)
    browser.type("name", "by-mouse")
    browser.until(lambda: "It fits" in dialog.text)
    browser.role("button", "Create lease").click()
    browser.until(lambda: "by-mouse" in names_of(browser))
    made = next(lease for lease in leases(service) if lease["name"] == "by-mouse")
    assert read(made["end_date"]) == stop.replace(second=0) or read(made["end_date"]) == stop
    bars = next(each["bars"] for each in rows_of(browser) if each["name"] == "cmp-02")
    # What a test before this one had and has given back is history.
    assert [bar["name"] for bar in bars][-2:] == ["by-mouse", "theirs"]  # type: ignore[attr-defined]


def test_what_is_refused_comes_with_an_offer_that_is_a_button(browser: Browser, service: Program) -> None:
    lease_of(service, "all-of-them", start=2 * HOUR, hours=10, project="alt", hosts=12)
    browser.allowed.add(409)
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    canvas = wait_until_drawn(browser)
    row, after = host(browser, "cmp-03.example"), datetime.now(UTC) + 20 * HOUR
    browser.drag(canvas, place_of(browser, row, after), place_of(browser, row, after + 6 * HOUR))
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    browser.type("start", (datetime.now(UTC) + 5 * HOUR).strftime("%Y-%m-%dT%H:%M"))
    browser.until(lambda: "Not enough hosts" in dialog.text)
    assert not browser.role("button", "Create lease").is_enabled()
    browser.role("button", "Take ", dialog).click()
    browser.until(lambda: "It fits" in dialog.text)
    browser.role("button", "Create lease").click()
    browser.until(lambda: len(leases(service)) == 2)


def test_an_edge_is_dragged_to_extend_the_lease(browser: Browser, service: Program) -> None:
    lease = lease_of(service, "longer", start=4 * HOUR, hours=6, properties=BIG)
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    canvas = wait_until_drawn(browser)
    row = next(int(str(each["row"])) for each in rows_of(browser) if "longer" in str(each["bars"]))
    end = read(lease["end_date"])
    with browser.dragging(canvas, place_of(browser, row, end), place_of(browser, row, end + 8 * HOUR)):
        assert "later" in browser.find(".tl-draft-text").text
    dialog = browser.role("dialog", "End of longer")
    browser.until(lambda: "It fits" in dialog.text)
    wanted = (end + 5 * HOUR).replace(minute=0, second=0)
    browser.type("end", wanted.strftime("%Y-%m-%dT%H:%M"))
    browser.until(lambda: "It fits" in dialog.text)
    browser.role("button", "Set this end").click()
    browser.until(lambda: [read(each["end_date"]) for each in leases(service)] == [wanted])


def test_members_ask_for_hosts_like_those_that_they_dragged_over(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline?by=rack&span=3d&p.gpu_model=H100")
    canvas = wait_until_drawn(browser)
    row, after = (
        int(browser.script("return document.querySelector('leasehold-timeline').given.layout.row[1]")),
        20 * HOUR,
    )
    moment = datetime.now(UTC) + after
    browser.drag(canvas, place_of(browser, row, moment), place_of(browser, row, moment + 6 * HOUR))
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    browser.find(".how summary").click()
    browser.until(lambda: "leasehold lease create lease-" in dialog.text)
    browser.role("button", "Create lease").click()
    browser.until(lambda: len(leases(service)) == 1)
    [reservation] = leases(service)[0]["reservations"]
    assert '["==", "$gpu_model", "H100"]' in reservation["resource_properties"].replace(",", ", ").replace(",  ", ", ")
    assert reservation["max"] == 1
    browser.until(lambda: not browser.roles("dialog"))
    assert browser.script("return document.activeElement.getAttribute('role')") == "grid"
