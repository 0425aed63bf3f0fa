"""The timeline of the console: what is free, what is mine, what is not to be had, in pictures, words and as a table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.keys import Keys

from tests.console.estate import HOUR, INSTANCE, ask, host, lease_of, read
from tests.console.picture import cell, colour_at, names_of, place_of, rows_of, take_the_keyboard, wait_until_drawn

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

FORMS = [(width, dark) for width in (1440, 390) for dark in (False, True)]
SETTLED = """
const from = Date.parse(new URLSearchParams(location.hash.split("?")[1]).get("from")) / 1000;
const { view } = document.querySelector("leasehold-timeline");
return from > Date.UTC(2031, 4, 1) / 1000 && Math.abs(from - view.from) <= 60;
"""


@pytest.mark.parametrize(("width", "dark"), FORMS)
@pytest.mark.parametrize("form", ["picture", "table"])
def test_nothing_is_wrong_with_it_in_any_form(
    browser: Browser, service: Program, width: int, *, dark: bool, form: str
) -> None:
    lease_of(service, "train-llm", start=3 * HOUR, hours=20, hosts=2)
    lease_of(service, "theirs", start=30 * HOUR, hours=30, project="alt", hosts=3)
    browser.sign_in(service, user="demo-user")
    browser.open(service, f"timeline?as={form}", width=width, dark=dark)
    if form == "picture":
        wait_until_drawn(browser)
    else:
        browser.role("button", "Lease Host")
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.picture(f"timeline-{form}-{width}-{'dark' if dark else 'light'}")


def test_members_see_their_own_leases_by_name_and_those_of_others_as_taken(browser: Browser, service: Program) -> None:
    lease_of(service, "mine-alone", start=3 * HOUR, hours=20)
    lease_of(service, "their-secret", start=3 * HOUR, hours=20, project="alt")
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    assert names_of(browser) == {"mine-alone"}
    soon = datetime.now(UTC).timestamp()
    bars = [bar for row in rows_of(browser) for bar in row["bars"] if bar["end"] > soon]  # type: ignore[attr-defined]
    assert sorted(bar["kind"] for bar in bars) == ["lease", "taken"]
    assert all(row["name"] is None for row in rows_of(browser))
    browser.sign_in(service, roles=("admin",))
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    assert names_of(browser) == {"mine-alone", "their-secret"}


def test_what_is_made_elsewhere_appears_by_itself(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    assert names_of(browser) == set()
    lease_of(service, "new-here", start=3 * HOUR, hours=20)
    browser.until(lambda: names_of(browser) == {"new-here"})


def test_the_view_is_in_the_address(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "timeline?from=2031-05-01T00:00Z&span=3d&by=rack&p.rack=a1,a2")
    canvas = wait_until_drawn(browser)
    view = "return document.querySelector('leasehold-timeline').view"
    may = datetime(2031, 5, 1, tzinfo=UTC).timestamp()
    assert browser.script(view) == {"from": may, "to": may + 3 * 86400}
    shown = "return document.querySelector('leasehold-timeline').given.layout.groups.map((group) => group.name)"
    assert browser.script(shown) == ["a1", "a2"]
    browser.drag(canvas, (900, 20), (700, 20))
    browser.until(lambda: browser.script(SETTLED))
    moved = browser.script(view)
    assert moved["from"] > may
    assert moved["to"] - moved["from"] == 3 * 86400
    address = browser.script("return location.hash.slice(2)")
    browser.open(service, address)
    wait_until_drawn(browser)
    assert abs(browser.script(view)["from"] - moved["from"]) <= 60
    assert browser.script(shown) == ["a1", "a2"]
    browser.find("#timeline-search").send_keys("nothing-like-this")
    browser.until(lambda: "No resource matches" in browser.text())


def test_keys_go_through_the_picture_and_say_where_they_are(browser: Browser, service: Program) -> None:
    lease = lease_of(service, "by-keys", start=5 * HOUR, hours=6)
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    wait_until_drawn(browser)
    take_the_keyboard(browser)
    texts = [cell(browser)]
    for _ in range(12):
        browser.press(Keys.ARROW_RIGHT)
        texts.append(cell(browser))
    start, end = (read(lease[key]).strftime("%-d %b %Y, %H:%M") for key in ("start_date", "end_date"))
    assert f"cmp-01, by-keys, {start} to {end}" in texts
    browser.press(Keys.ARROW_DOWN)
    assert cell(browser).startswith("cmp-02, free from")
    grid = browser.role("grid")
    assert grid.get_attribute("aria-rowcount") == "12"
    assert browser.find("[role=grid] [role=row]").get_attribute("aria-rowindex") == "2"
    browser.press("?")
    browser.until(lambda: "draft one on what is free" in browser.role("dialog", "Keys").text)


def test_the_table_says_the_same_and_leases_as_well(browser: Browser, service: Program) -> None:
    lease_of(service, "on-the-phone", start=5 * HOUR, hours=6, hosts=12)
    for day in (1, 2, 3):
        lease_of(service, f"every-day-{day}", start=day * 24 * HOUR, hours=6, hosts=12)
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline", width=390)
    table = browser.role("table", "Timeline")
    assert table.text.count("on-the-phone") == 12
    browser.picture("timeline-phone")
    # A line for the host, and one for each lease.
    assert (
        browser.script("return Math.max(...[...document.querySelectorAll('.tl-table tr')].map(tr => tr.offsetHeight))")
        < 140
    )
    browser.roles("button", "Lease Host")[0].click()
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    assert browser.overflow() == 0
    assert browser.serious() == []


def test_whoever_signs_out_sees_nothing_more(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    browser.role("button", "Sign out").click()
    dialog = browser.role("dialog", "Sign in to Leasehold")
    browser.type("user", "someone")
    browser.role("button", "Sign in", dialog).click()
    browser.until(lambda: "someone" in browser.find(".who").text)
    wait_until_drawn(browser)


def test_a_disabled_host_is_hatched_and_says_why(browser: Browser, service: Program) -> None:
    ask(service, "PUT", "/os-hosts/5", {"disabled": True, "disabled_reason": "bad disk"})
    browser.sign_in(service, roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    wait_until_drawn(browser)
    closed, free = host(browser, "cmp-05"), host(browser, "cmp-02")
    moment = datetime.now(UTC) + 30 * HOUR
    assert colour_at(browser, place_of(browser, free, moment)) != colour_at(browser, place_of(browser, closed, moment))
    take_the_keyboard(browser)
    browser.press(*[Keys.ARROW_DOWN] * 4)
    assert cell(browser) == "cmp-05, disabled: bad disk"
    browser.press(Keys.ENTER)
    assert not browser.roles("dialog")
    ask(service, "PUT", "/os-hosts/5", {"disabled": False})
    browser.until(lambda: "free from" in cell(browser))


def test_instances_that_share_a_host_are_steps_and_open_into_lanes(browser: Browser, service: Program) -> None:
    wanted = INSTANCE | {"amount": 1, "vcpus": 2, "memory_mb": 1024, "disk_gb": 5}
    for name in ("one", "two"):
        lease_of(service, name, start=3 * HOUR, hours=20, wanted=wanted)
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    canvas = wait_until_drawn(browser)
    row, middle = host(browser, "cmp-01"), datetime.now(UTC) + 12 * HOUR
    x, y = place_of(browser, row, middle)
    assert colour_at(browser, (x, y - 8)) != colour_at(browser, (x, y + 8)), "half is free, above what is used"
    height = "return document.querySelector('leasehold-timeline').box(arguments[0]).height"
    closed = browser.script(height, row)
    browser.drag(canvas, (40, y), (40, y))
    browser.until(lambda: browser.script(height, row) > closed)
    browser.find("[role=grid]").send_keys(Keys.HOME, "o")
    browser.until(lambda: browser.script(height, row) == closed)


def test_many_hosts_are_a_heat_map(browser: Browser, service: Program) -> None:
    lease_of(service, "theirs", start=3 * HOUR, hours=40, project="alt", hosts=12)
    browser.sign_in(service)
    browser.open(service, "timeline?rows=all&span=3d", height=205)
    wait_until_drawn(browser)
    assert browser.script("return document.querySelector('leasehold-timeline').given.layout.rowHeight") < 2.5
    x, _ = place_of(browser, 0, datetime.now(UTC) + 20 * HOUR)
    later, _ = place_of(browser, 0, datetime.now(UTC) + 60 * HOUR)
    taken, free = colour_at(browser, (x, 50)), colour_at(browser, (later, 50))
    assert taken != free
    assert free[1] > max(free[0], free[2]) + 20, "what is free is green"


def test_the_wheel_zooms_over_the_axis(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "timeline?span=7d")
    canvas = wait_until_drawn(browser)
    span = "const { from, to } = document.querySelector('leasehold-timeline').view; return to - from"
    before = browser.script(span)
    over_axis = ScrollOrigin.from_element(canvas, 0, 20 - int(canvas.rect["height"] // 2))
    ActionChains(browser.driver).scroll_from_origin(over_axis, 0, 200).perform()
    browser.until(lambda: browser.script(span) > before * 1.2)
    browser.role("button", "Less time").click()
    browser.until(lambda: browser.script(span) < before)


def test_two_fingers_zoom_and_one_pans(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "timeline?span=7d&as=picture", width=390)
    canvas = wait_until_drawn(browser)
    view = "return document.querySelector('leasehold-timeline').view"
    before = browser.script(view)
    top = int(canvas.location["y"]) + 120

    def touch(kind: str, *places: int) -> None:
        points = [{"x": x, "y": top, "id": number} for number, x in enumerate(places)]
        browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 200, 240)
    touch("touchMove", 160, 280)
    touch("touchMove", 140, 300)
    touch("touchEnd")
    browser.until(lambda: browser.script(view)["to"] - browser.script(view)["from"] < 4 * 86400)
    zoomed = browser.script(view)
    assert before["from"] < zoomed["from"] < zoomed["to"] < before["to"]
    touch("touchStart", 300)
    touch("touchMove", 250)
    touch("touchMove", 200)
    touch("touchEnd")
    browser.until(lambda: browser.script(view)["from"] > zoomed["from"])
    assert not browser.roles("dialog")
