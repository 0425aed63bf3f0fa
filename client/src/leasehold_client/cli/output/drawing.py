"""The calendar as text: a row for each host, a column for each step of time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leasehold_client.cli.output.shown import show_moment, show_span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

STEPS = tuple(
    timedelta(minutes=minutes)
    for minutes in (1, 2, 5, 10, 15, 30, 60, 2 * 60, 3 * 60, 4 * 60, 6 * 60, 12 * 60, 24 * 60, 2 * 24 * 60, 7 * 24 * 60)
)
NARROWEST = 10
"""Columns of time that there are at least, however narrow the terminal is."""
_GREEN, _DIM, _PLAIN = "\x1b[32m", "\x1b[2m", "\x1b[0m"
_TICK_EVERY = 12
MOST_DIGIT = 9


@dataclass(frozen=True, slots=True)
class CalendarRow:
    """A host and when it is taken: half-open windows of aware times. `usable` False: it is leased to nobody now."""

    name: str
    taken: Sequence[tuple[datetime, datetime]]
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Style:
    """How wide the text may be, and what it is made of."""

    width: int
    zone: tzinfo
    colour: bool = False
    ascii: bool = False


def draw(rows: Sequence[CalendarRow], start: datetime, end: datetime, style: Style, now: datetime) -> list[str]:
    """Return the lines of the calendar of `[start, end)`, none wider than the style says.

    A step of time is drawn as free only if the host is free in all of it, and not at all if it is over: of that only
    what is still leased is known.
    """
    label = max([len(row.name) for row in rows], default=0)
    label = min(label, max(0, style.width - NARROWEST - 1))
    step = step_for(end - start, max(NARROWEST, style.width - label - 1))
    starts = [start + step * place for place in range(-(-(end - start) // step))]
    lines = _header(starts, label, style)
    lines += [f"{row.name[:label]:{label}} {_cells(row, starts, step, style, now)}" for row in rows]
    free, taken, out = _marks(style)
    legend = f"{free} free  {taken} taken  {out} out of service; a column is {show_span(step)}"
    if starts[0] + step <= now:
        legend += "; what is over is left blank"
    return [*lines, *_wrapped(legend, style.width)]


def step_for(span: timedelta, columns: int) -> timedelta:
    """Return the shortest round step of which so many columns hold the span."""
    for step in STEPS:
        if step * columns >= span:
            return step
    return STEPS[-1] * -(-span // (STEPS[-1] * columns))


def _header(starts: Sequence[datetime], label: int, style: Style) -> list[str]:
    """Return a line with the first moment, and one with the time of day, or the date, of every few columns."""
    first, last = (each.astimezone(style.zone) for each in (starts[0], starts[-1]))
    form = "%d %b" if last - first >= timedelta(days=3) else "%H:%M"
    ticks = ""
    for place in range(0, len(starts), _TICK_EVERY):
        text = f"|{starts[place].astimezone(style.zone):{form}}"
        if place + len(text) <= len(starts):
            ticks = f"{ticks:{place}}{text}"
    return [*_wrapped(f"From {show_moment(starts[0], style.zone)}", style.width), f"{'':{label}} {ticks}"]


def _cells(row: CalendarRow, starts: Sequence[datetime], step: timedelta, style: Style, now: datetime) -> str:
    free, taken, out = _marks(style)
    marks = [free if not _overlaps(row, each, each + step) else taken for each in starts]
    if not row.usable:
        marks = [out if mark == free else mark for mark in marks]
    text = "".join(mark if now < each + step else " " for mark, each in zip(marks, starts, strict=True))
    return _in_colours(text, lambda mark: mark == free) if style.colour else text


def _overlaps(row: CalendarRow, start: datetime, end: datetime) -> bool:
    return any(begin < end and start < until for begin, until in row.taken)


def _marks(style: Style) -> tuple[str, str, str]:
    """Return what stands for free, taken and out of service. What is free is what people look for."""
    return (".", "#", "x") if style.ascii else ("█", "·", "x")


def _in_colours(text: str, free: Callable[[str], bool]) -> str:
    """Return the text with what is free in green, and the rest dim."""
    parts: list[str] = []
    for mark in text:
        colour = _GREEN if free(mark) else _DIM
        if not parts or not parts[-1].startswith(colour):
            parts.append(colour)
        parts[-1] += mark
    return "".join(parts) + _PLAIN


def _wrapped(text: str, width: int) -> list[str]:
    return [text[begin : begin + width] for begin in range(0, len(text), max(1, width))]


@dataclass(frozen=True, slots=True)
class FreeCount:
    """So many are free over `[start, end)`."""

    start: datetime
    end: datetime
    free: int


def draw_counts(noun: str, counts: Sequence[FreeCount], start: datetime, end: datetime, style: Style) -> list[str]:
    """Return the lines of a calendar that says how many are free, for who may not see which.

    A column is the least that is free in its step, as a digit, and `+` from ten on; blank where that is not known.
    """
    label = min(len(noun), max(0, style.width - NARROWEST - 1))
    step = step_for(end - start, max(NARROWEST, style.width - label - 1))
    starts = [start + step * place for place in range(-(-(end - start) // step))]
    digits = "".join(_digit(counts, each, each + step) for each in starts)
    shown = _in_colours(digits, lambda mark: mark not in "0 ") if style.colour else digits
    legend = f"how many are free: 0 to 9, + is ten or more; a column is {show_span(step)}"
    return [*_header(starts, label, style), f"{noun[:label]:{label}} {shown}", *_wrapped(legend, style.width)]


def _digit(counts: Sequence[FreeCount], start: datetime, end: datetime) -> str:
    least = min((each.free for each in counts if each.start < end and start < each.end), default=None)
    return " " if least is None else "+" if least > MOST_DIGIT else str(least)


@dataclass(frozen=True, slots=True)
class Level:
    """How high the demand stands over `[start, end)`: `heights` do not descend, one for each mark of `draw_levels`."""

    start: datetime
    end: datetime
    heights: tuple[int, ...]
    capacity: int


def draw_levels(
    levels: Sequence[Level], names: Sequence[str], rows: int, style: Style, limit: str = "capacity"
) -> list[str]:
    """Return the lines of a chart of so many rows: what is up to each of the heights, and a line at the capacity.

    A column is the most that is asked for in its step, and the least capacity. `names` are what the heights are of, and
    `limit` is what the line is at.
    """
    top = max([1, *(max(*each.heights, each.capacity) for each in levels)])
    label, (start, end) = len(str(top)), (levels[0].start, levels[-1].end)
    step = step_for(end - start, max(NARROWEST, style.width - label - 1))
    starts = [start + step * place for place in range(-(-(end - start) // step))]
    columns = [_highest(levels, each, each + step) for each in starts]
    marks, line = ("#+:.", "-") if style.ascii else ("█▓▒░", "─")
    lines = _header(starts, label, style)
    for row in range(rows, 0, -1):
        cells = "".join(_level_mark(column, row, rows, top, marks, line) for column in columns)
        # Each row stands for what is above the one below it, up to its number.
        lines.append(f"{top * row // rows:{label}} {cells}".rstrip())
    legend = "  ".join(f"{mark} {name}" for mark, name in zip(marks, names, strict=False))
    return [*lines, *_wrapped(f"{legend}  {line} {limit}; a column is {show_span(step)}", style.width)]


def _highest(levels: Sequence[Level], start: datetime, end: datetime) -> tuple[tuple[int, ...], int]:
    """Return the heights and the capacity of a column."""
    mine = [each for each in levels if each.start < end and start < each.end]
    if not mine:
        return (), 0
    heights = tuple(map(max, zip(*(each.heights for each in mine), strict=True)))
    return heights, min(each.capacity for each in mine)


def _level_mark(column: tuple[tuple[int, ...], int], row: int, rows: int, top: int, marks: str, line: str) -> str:
    heights, capacity = column
    below = top * (row - 1)
    for height, mark in zip(heights, marks, strict=False):
        if height * rows > below:
            return mark
    return line if below < capacity * rows <= top * row else " "
