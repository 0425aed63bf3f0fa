"""Where things are on the timeline's canvas: the picture says it itself, and the tests point there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from selenium.webdriver.remote.webelement import WebElement

    from tests.console.browser import Browser

PLACE = """
const [row, seconds] = arguments;
const picture = document.querySelector("leasehold-timeline");
const { from, to, width } = picture.scale;
const box = picture.box(row);
return [Math.round(picture.gutter + ((seconds - from) / (to - from)) * width), Math.round(box.top + box.height / 2)];
"""
ROWS = """
const { model } = document.querySelector("leasehold-timeline")?.given ?? { model: { rows: 0 } };
return [...Array(model.rows).keys()].map((row) => ({
  row, id: model.ids[row], name: model.names[row], state: model.states[row],
  bars: [...Array(model.bars.first[row + 1] - model.bars.first[row]).keys()].map((at) => {
    const bar = model.bars.first[row] + at;
    const lease = model.leases[model.leaseOf[bar]];
    const { start, end } = model.bars;
    const fares = { degraded: lease?.degraded ?? false, substitute: model.substitutes.has(bar) };
    return { kind: model.kinds[bar], start: start[bar], end: end[bar], name: lease?.name ?? null, ...fares };
  }),
}));
"""
# On a canvas that is read from, Chromium warns that it draws slowly: so it is a copy.
COLOUR = """
const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const canvas = document.querySelector("leasehold-timeline canvas");
copy.drawImage(canvas, arguments[0], arguments[1], 1, 1, 0, 0, 1, 1);
return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
"""


def wait_until_drawn(browser: Browser) -> WebElement:
    """Return the canvas, as soon as it was drawn."""
    browser.until(lambda: browser.script("return performance.getEntriesByName('timeline-drawn').length"))
    return browser.find("leasehold-timeline canvas")


def rows_of(browser: Browser) -> list[dict[str, object]]:
    """Return the rows that the picture has, with their bars."""
    found: list[dict[str, object]] = browser.script(ROWS)
    return found


def names_of(browser: Browser) -> set[str]:
    """Return the names of leases that the picture has."""
    return {str(bar["name"]) for row in rows_of(browser) for bar in row["bars"] if bar["name"]}  # type: ignore[attr-defined]


def place_of(browser: Browser, row: int, moment: datetime) -> tuple[int, int]:
    """Return where a moment is on a row of the canvas."""
    x, y = browser.script(PLACE, row, moment.timestamp())
    return x, y


def cell(browser: Browser) -> str:
    """Return what a screen reader says of the place where the keyboard is."""
    text: str = browser.script(
        "const grid = document.querySelector('[role=grid]');"
        "return document.getElementById(grid.getAttribute('aria-activedescendant'))?.textContent ?? ''"
    )
    return text


def colour_at(browser: Browser, place: tuple[int, int]) -> tuple[int, int, int]:
    """Return the colour of a point of the canvas: red, green and blue."""
    red, green, blue = browser.script(COLOUR, *place)
    return red, green, blue


def take_the_keyboard(browser: Browser) -> None:
    """Bring the focus to the picture, as the tabulator does: it begins at the first row, now."""
    browser.script("document.querySelector('[role=grid]').focus()")
    browser.until(lambda: cell(browser))
