"""The web console in a browser: main thread for each frame of the timeline, and the first view through the API.

Chromium draws in software. Processor time of the page's main thread is what a frame costs whatever else the machine
does; frames per second are printed for comparison.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bench.client import ISO
from bench.deployment import running
from bench.fill import filled_estate, first_day
from bench.row import Row
from tests.console.browser import Browser, running_browser
from tests.console.picture import wait_until_drawn
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tests.processes import Program

SIZES: Final = ((500, 5_000), (2_000, 50_000))
BUDGETED: Final = 500
DAYS: Final = 120
OURS: Final = 20
"""One lease in so many is of the project that looks."""
FIRST_DAY_SHOWN: Final = 30
FRAMES: Final = 90
FIRST_VIEWS: Final = 5
FRAME_BUDGET_MS: Final = 10.0
FIRST_VIEW_BUDGET_S: Final = 1.0
WHOLE: Final = 120
"""Days of a view for which the page reads the window that all movements stay in."""
# One state for each frame that the browser begins; a movement is a function from 0..1 to a state.
MOVE: Final = """
const [movement, frames, done] = arguments;
const picture = document.querySelector("leasehold-timeline");
const day = 86400;
const { from, to } = picture.view;
const middle = (from + to) / 2;
const most = picture.scroller.scrollHeight - picture.scroller.clientHeight;
const ways = {
  pan: (part) => picture.show({ from: from + part * 21 * day, to: to + part * 21 * day }),
  scroll: (part) => { picture.scroller.scrollTop = part * Math.min(most, 400 * picture.given.layout.rowHeight); },
  zoom: (part) => {
    const span = (14 + 106 * (1 - Math.abs(1 - 2 * part))) * day;
    picture.show({ from: Math.round(middle - span / 2), to: Math.round(middle + span / 2) });
  },
};
const times = [];
const step = (moment) => {
  times.push(moment);
  if (times.length > frames) return done((times.at(-1) - times[0]) / frames);
  ways[movement](times.length / frames);
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""
SHOW: Final = """
const [start, days, done] = arguments;
const picture = document.querySelector("leasehold-timeline");
picture.scroller.scrollTop = 0;
picture.show({ from: start, to: start + days * 86400 });
setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 400);
"""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a frame of a movement takes: milliseconds of the main thread, and of the clock."""

    processor: float
    clock: float


def run(*, quick: bool = False) -> list[Row]:
    """Measure both sizes; `quick` only the smaller one."""
    return [row for size in (SIZES[:1] if quick else SIZES) for row in _measured(*size)]


def _measured(hosts: int, leases: int) -> Iterator[Row]:
    what = f"{hosts:,} hosts x {leases:,} bars"
    budgeted = hosts == BUDGETED
    with new_database("mariadb") as url:
        filled_estate(url, hosts, leases, DAYS, ours=OURS)
        with running("leasehold-api", database_url=url) as api:
            seconds = statistics.median(_first_view(api) for _ in range(FIRST_VIEWS))
            yield Row(f"console, first view, {what}, p50", seconds, "s", FIRST_VIEW_BUDGET_S if budgeted else None)
            with running_browser() as browser:
                _open(browser, api, "small")
                for movement in ("pan", "scroll", "zoom"):
                    budget = FRAME_BUDGET_MS if budgeted else None
                    yield _row(f"console, {movement}, {what}", _frame(browser, movement, 14), budget)
                _open(browser, api, "all")
                yield _row(f"console, pan with all hosts in sight, {what}", _frame(browser, "pan", 100))


def _row(name: str, frame: Frame, budget: float | None = None) -> Row:
    return Row(name, frame.processor, "ms/frame", budget, against=f"{1000 / frame.clock:.0f} frames a second")


def _first_view(api: Program) -> float:
    """Return the seconds from the navigation until the timeline is drawn, in a new browser."""
    with running_browser() as browser:
        browser.sign_in(api, user="filler")
        browser.open(api, f"timeline?from={_begin():{ISO}}&span=14d")
        wait_until_drawn(browser)
        mark: float = browser.script("return performance.getEntriesByName('timeline-drawn')[0].startTime")
        return mark / 1000


def _begin() -> datetime:
    return first_day() + timedelta(days=FIRST_DAY_SHOWN)


def _open(browser: Browser, api: Program, rows: str) -> None:
    """Open the timeline with all that the movements will show, and wait until it is there."""
    browser.sign_in(api, user="admin", roles=("admin",))
    browser.open(api, f"timeline?from={first_day():{ISO}}&span={WHOLE}d&rows={rows}&by=-")
    wait_until_drawn(browser)


def _frame(browser: Browser, movement: str, days: int) -> Frame:
    start = _begin() if days < WHOLE / 2 else first_day()
    browser.driver.execute_async_script(SHOW, start.timestamp(), days)
    browser.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    before = _processor(browser)
    clock: float = browser.driver.execute_async_script(MOVE, movement, FRAMES)
    processor = (_processor(browser) - before) / FRAMES * 1000
    browser.driver.execute_cdp_cmd("Performance.disable", {})
    time.sleep(0.5)  # What the page does when a movement has come to rest belongs to no movement.
    return Frame(processor, clock)


def _processor(browser: Browser) -> float:
    """Return the seconds of the processor that the main thread of the page has used in tasks."""
    metrics = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration")
