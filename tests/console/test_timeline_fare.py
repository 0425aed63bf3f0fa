"""How leases and hosts fare, on the timeline and while one watches: a host fails, and works again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.console.asking import active, lease
from tests.console.estate import HOUR, INSTANCE, lease_of
from tests.console.picture import cell, colour_at, rows_of, take_the_keyboard, wait_until_drawn
from tests.console.test_operations import failed, hosts_of
from tests.processes import Program, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.console.browser import Browser

ALL = 12
"""The hosts of the sandbox."""
MARK = "window.watched = true"
WATCHED = "return window.watched === true"
BAR = """
const [name] = arguments;
const picture = document.querySelector("leasehold-timeline");
const { model, now } = picture.given;
const isIt = (at) => model.leases[model.leaseOf[at]]?.name === name && model.bars.end[at] > now;
const bar = model.kinds.findIndex((kind, at) => kind === "lease" && isIt(at));
const row = model.bars.first.findLastIndex((first) => first <= bar);
const { from, to, width } = picture.scale;
const box = picture.box(row);
const at = Math.max(now, model.bars.start[bar]) + 7200;
return [Math.round(picture.gutter + ((at - from) / (to - from)) * width), Math.round(box.top + 5)];
"""


@pytest.fixture(scope="module")
def one_service() -> Iterator[Program]:
    """Yield a service that sees a failed host at once."""
    with running("leasehold-standalone", options={"physical:host": {"polling_interval": 1, "failure_grace": 0}}) as one:
        yield one


def bars_of(browser: Browser, name: str) -> list[dict[str, Any]]:
    """Return the bars of a lease, each with the id of its row."""
    return [
        {**bar, "row": row["id"]}
        for row in rows_of(browser)
        for bar in row["bars"]  # type: ignore[attr-defined]
        if bar["name"] == name
    ]


def state_of(browser: Browser, name: str) -> object:
    return next(row["state"] for row in rows_of(browser) if row["name"] == name)


def test_the_owner_watches_a_host_fail_and_another_take_its_place(browser: Browser, service: Program) -> None:
    made = active(browser, service, lease(service, "watched", hours=20))
    (name,) = hosts_of(service, made["id"])
    browser.sign_in(service)
    browser.open(service, "timeline?by=-&span=1d&colour=fare")
    wait_until_drawn(browser)
    browser.until(lambda: [bar["kind"] for bar in bars_of(browser, "watched")] == ["lease"])
    [before] = [bar["row"] for bar in bars_of(browser, "watched")]
    browser.script(MARK)
    with failed(service, name):
        browser.until(lambda: any(bar["substitute"] for bar in bars_of(browser, "watched")))
        assert before not in {bar["row"] for bar in bars_of(browser, "watched") if bar["substitute"]}
        assert "took the place of a broken one" in spoken(browser, "watched")
    assert browser.script(WATCHED), "the page was not loaded anew"


def spoken(browser: Browser, name: str) -> str:
    """Return what the picture says of the part of a lease that has not ended."""
    text: str = browser.script(
        "const [name] = arguments; const { given, input } = document.querySelector('leasehold-timeline');"
        "const { model } = given;"
        "for (let row = 0; row < model.rows; row += 1) {"
        "  const segment = input.segmentOf(row, given.now + 7200);"
        "  if (model.leases[model.leaseOf[segment.bar]]?.name === name) return given.describe(row, segment);"
        "} return '';",
        name,
    )
    return text


def test_the_owner_watches_a_lease_become_degraded_and_whole_again(browser: Browser, service: Program) -> None:
    made = active(browser, service, lease(service, "all", ALL, hours=20))
    name = hosts_of(service, made["id"])[0]
    browser.sign_in(service)
    browser.open(service, "timeline?by=-&span=1d&colour=fare")
    wait_until_drawn(browser)
    browser.until(lambda: len(bars_of(browser, "all")) == ALL)
    browser.script(MARK)
    whole = colour_at(browser, tuple(browser.script(BAR, "all")))
    with failed(service, name):
        browser.until(lambda: any(bar["degraded"] for bar in bars_of(browser, "all")))
        browser.until(lambda: colour_at(browser, tuple(browser.script(BAR, "all"))) != whole)
        assert "degraded" in spoken(browser, "all")
        assert browser.serious() == []
        browser.picture("timeline-degraded")
    browser.until(lambda: not any(bar["degraded"] for bar in bars_of(browser, "all")))
    browser.until(lambda: "degraded" not in spoken(browser, "all"))
    assert browser.script(WATCHED), "the page was not loaded anew"


def test_operators_watch_a_row_turn_failed_and_return(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, "timeline?by=-&span=1d")
    wait_until_drawn(browser)
    browser.script(MARK)
    take_the_keyboard(browser)
    # What a test before this one has given back may not be released yet.
    browser.press(Keys.END)
    assert cell(browser).startswith("cmp-01, free")
    with failed(service, "cmp-01"):
        browser.until(lambda: state_of(browser, "cmp-01") == "failed")
        browser.until(lambda: cell(browser).startswith("cmp-01, failed"))
        browser.picture("timeline-failed")
    browser.until(lambda: state_of(browser, "cmp-01") == "ok", within=45)
    browser.until(lambda: cell(browser).startswith("cmp-01, free"))
    assert browser.script(WATCHED), "the page was not loaded anew"


@pytest.mark.parametrize(("width", "dark"), [(width, dark) for width in (1440, 390) for dark in (False, True)])
def test_colours_of_fares_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    active(browser, service, lease(service, "running", hours=30))
    lease(service, "not-yet", 2, start=10, hours=40)
    browser.sign_in(service)
    browser.open(service, "timeline?by=-&span=3d&as=picture&colour=fare", width=width, dark=dark)
    wait_until_drawn(browser)
    browser.until(lambda: len(bars_of(browser, "not-yet")) == 2)
    for word in ("not begun", "starting", "active", "at risk", "degraded", "in error"):
        assert word in browser.find(".tl-legend").text
    assert colour_at(browser, tuple(browser.script(BAR, "running"))) != colour_at(
        browser, tuple(browser.script(BAR, "not-yet"))
    )
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.picture(f"timeline-fare-{width}-{'dark' if dark else 'light'}")


def test_instances_on_a_shared_host_say_how_they_fare_in_its_lanes(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d&colour=fare")
    wait_until_drawn(browser)
    closed = "mine on a shared host"
    assert closed not in browser.find(".tl-legend").text
    wanted = INSTANCE | {"amount": 1, "vcpus": 2, "memory_mb": 1024, "disk_gb": 5}
    lease_of(service, "small", start=3 * HOUR, hours=40, wanted=wanted)
    browser.until(lambda: closed in browser.find(".tl-legend").text)
    row = next(row for row in rows_of(browser) if "'small'" in str(row["bars"]))
    before = colour_at(browser, tuple(browser.script(BAR, "small")))
    place = browser.script("return document.querySelector('leasehold-timeline').box(arguments[0]).top", row["row"])
    canvas = browser.find("leasehold-timeline canvas")
    browser.drag(canvas, (40, int(place) + 8), (40, int(place) + 8))
    browser.until(lambda: colour_at(browser, tuple(browser.script(BAR, "small"))) != before)
