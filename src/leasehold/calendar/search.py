"""The earliest window in which an amount fits. Exact: the search considers every possible start.

Each gap of a resource allows a range of starts, or is too short (`leasehold.calendar.starts`). The search covers a
short time ahead first and then longer ones. With an outlook (`leasehold.calendar.outline`) it skips the starts and the
resources whose upper bounds are too low.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.snapshot import fitting
from leasehold.calendar.starts import Shape, Starts, idle_starts, slot_starts
from leasehold.model.budget import nothing_to_check
from leasehold.model.windows import EPOCH, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from leasehold.calendar.arrays import Counts, Mask
    from leasehold.calendar.outline import Outlook
    from leasehold.calendar.snapshot import Snapshot

_NOTHING: Final = timedelta(0)
_SECOND: Final = timedelta(seconds=1)
_FIRST_REACH: Final = 86_400
_GROWTH: Final = 2
_FEWEST: Final = 4
_CELLS: Final = 4_096
"""Stretches, or cells of the outline, that are looked at together at first, to find those that are alike."""
_MOST: Final = 16
"""How many times as many are looked at in the end."""


class SlotSpread(Enum):
    """How the slots of one reservation may be spread over hosts."""

    ANY = "any"
    ONE_HOST = "one host"
    DISTINCT_HOSTS = "distinct hosts"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is searched: `amount` slots; `empty`, shape (rows,), has how many an empty row of the candidates gives.

    `fitting` returns how many slots fit in one window on each of some rows; `starts` returns the starts from one moment
    to another at which some rows have slots.
    `count` turns what limits leave on rows, or the bounds of the `outlook`, into slots that count.
    """

    candidates: Mask
    amount: int
    empty: Counts
    fitting: Callable[[tuple[int, int], Mask], Counts]
    starts: Callable[[Mask, int, int, Shape], Starts]
    count: Callable[[Counts], Counts] = lambda counts: counts
    outlook: Outlook | None = None


@dataclass(frozen=True, slots=True)
class Sought:
    """The windows that a search may return: those of `duration` that start not before `after`.

    Their starts are multiples of `grain` seconds since the epoch. What is found is free in the window widened by
    `margin`. `check` is called before each step of the search, and ends it by raising.
    """

    after: datetime
    duration: timedelta
    margin: timedelta = _NOTHING
    check: Callable[[], None] = nothing_to_check
    grain: int = 60

    @property
    def shape(self) -> Shape:
        """The widened window in whole seconds, rounded as `Window.seconds` rounds, and at least one second long."""
        before, after = -(-self.margin // _SECOND), (self.duration + self.margin) // _SECOND
        return Shape(before, max(after, 1 - before), self.grain)


def earliest_free(snapshot: Snapshot, candidates: Mask, amount: int, sought: Sought) -> Window | None:
    """Return the first window that is sought in which `amount` of the candidates are wholly free.

    None when the candidates are too few, or the window would lie beyond the last date.
    """
    wanted = _Wanted(
        candidates,
        amount,
        candidates.astype(np.int64),
        lambda times, rows: (snapshot.idle(times) & rows).astype(np.int64),
        partial(idle_starts, snapshot),
        outlook=snapshot.outlook([snapshot.whole()]),
    )
    return _earliest(snapshot, wanted, sought)


def earliest_slots(
    snapshot: Snapshot, candidates: Mask, demand: Mapping[str, int], amount: int, spread: SlotSpread, sought: Sought
) -> Window | None:
    """Return the first window that is sought in which `amount` slots of `demand` fit on the candidates.

    The rest is as in `earliest_free`. Slots are counted as by `Snapshot.slots`, on one host, on distinct hosts or
    summed.
    """
    limits = snapshot.limits(demand)
    ways: Mapping[SlotSpread, tuple[int, Callable[[Counts], Counts]]] = {
        SlotSpread.ANY: (amount, lambda counts: np.minimum(counts, amount)),
        SlotSpread.DISTINCT_HOSTS: (amount, lambda counts: np.minimum(counts, 1)),
        SlotSpread.ONE_HOST: (1, lambda counts: (counts >= amount).astype(np.int64)),
    }
    needed, count = ways[spread]
    empty = np.where(candidates, count(fitting(limits)), 0)
    # Do not search rows on which nothing fits even while they are empty.
    able = empty > 0
    wanted = _Wanted(
        able,
        needed,
        empty,
        lambda times, rows: count(snapshot.room(times, limits, rows)),
        partial(slot_starts, snapshot, limits, count, empty),
        count,
        snapshot.outlook(limits),
    )
    return _earliest(snapshot, wanted, sought)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The starts from `first` to `last`, both included, and the only rows that can have slots there."""

    first: int
    last: int
    rows: Mask


class _Ahead:
    """Cuts the possible starts into stretches, and skips those that are hopeless: the outlook's bounds are too low.

    As long as stretches are hopeless, it checks more and more of the grid's stretches together, because long windows
    that begin in them still have much in common. Starts outside the grid are never skipped.
    """

    def __init__(self, wanted: _Wanted, shape: Shape, last: int) -> None:
        self._wanted = wanted
        self._shape = shape
        self._last = last
        self._at_once = 1
        self._fewest = self._skimmed = max(_FEWEST, _CELLS // max(1, wanted.empty.size))

    def hopeful(self, first: int, reach: int, check: Callable[[], None]) -> _Stretch | None:
        """Return the first stretch from `first` on that may have enough slots, up to about `reach` seconds long."""
        found: _Stretch | None = None
        while first <= self._last and (found is None or found.last < found.first + reach):
            check()
            last, rows = self._next(first, reach)
            if rows is None and found is not None:
                break
            if rows is not None:
                found = _Stretch(first, last, rows) if found is None else _Stretch(found.first, last, found.rows | rows)
            first = last + self._shape.grain
        return found

    def _next(self, first: int, reach: int) -> tuple[int, Mask | None]:
        """Return the last start up to which one answer holds, and the rows that may have slots, None if too few."""
        outlook, before = self._wanted.outlook, self._shape.before
        place = None if outlook is None else outlook.grid.stretch(first - before)
        if outlook is None or place is None:
            return self._until(first, first + reach), self._wanted.candidates
        grid = outlook.grid
        while True:
            window = grid.edge(place), grid.edge(min(place + self._at_once, grid.count)) - 1
            rows = self._rows(outlook, *window)
            if rows is not None and self._at_once > 1:
                self._at_once //= 2
                continue
            end = window[1]
            if rows is None and 4 * self._at_once * grid.width <= self._shape.length:
                self._at_once *= 2
            elif self._at_once == 1 and (rows is None or reach >= grid.width):
                count = self._skimmed if rows is None else min(self._skimmed, reach // grid.width)
                more, hopeful = self._alike(outlook, place + 1, count, hopeless=rows is None)
                end = grid.edge(place + 1 + more) - 1
                rows = None if rows is None else rows | hopeful
            return self._until(first, end + before), rows

    def _alike(self, outlook: Outlook, place: int, count: int, *, hopeless: bool) -> tuple[int, Mask]:
        """Return how many of these stretches are alike from this one on, and the rows that may have slots in them.

        It looks ever further while all are.
        """
        counts = self._wanted.count(outlook.at_most_each(place, count, self._shape.length))
        counts *= self._wanted.candidates
        other = (counts.sum(axis=1) >= self._wanted.amount) == hopeless
        found = int(other.argmax()) if other.any() else len(other)
        self._skimmed = self._fewest if found < len(other) else min(2 * self._skimmed, _MOST * self._fewest)
        return found, np.any(counts[:found] > 0, axis=0)

    def _until(self, first: int, last: int) -> int:
        return min(max(first, self._shape.down(last)), self._last)

    def _rows(self, outlook: Outlook, first: int, last: int) -> Mask | None:
        """Return the rows that may have slots in windows that begin from `first` to `last`, None if too few have."""
        counts = self._wanted.count(outlook.at_most(first, last, self._shape.length))
        counts[~self._wanted.candidates] = 0
        return counts > 0 if counts.sum() >= self._wanted.amount else None


def _earliest(snapshot: Snapshot, wanted: _Wanted, sought: Sought) -> Window | None:
    if wanted.empty.sum() < wanted.amount:
        return None
    shape = sought.shape
    first = shape.up(-((EPOCH - sought.after) // _SECOND))
    last = max(first, shape.up(snapshot.busy_until() + shape.before))
    ahead = _Ahead(wanted, shape, last)
    # Check the first start alone: it is the likeliest, and one window is quick to check.
    reach, next_reach = 0, _FIRST_REACH
    while (stretch := ahead.hopeful(first, reach, sought.check)) is not None:
        if not reach and stretch.first == first:
            stretch = _Stretch(first, first, stretch.rows)
        found = _first_start(wanted, stretch, shape)
        if found is not None:
            return _window(found, sought.duration)
        first = stretch.last + shape.grain
        reach, next_reach = max(next_reach, shape.length // 2), next_reach * _GROWTH
    return None


def _window(start: int, duration: timedelta) -> Window | None:
    try:
        begin = EPOCH + timedelta(seconds=start)
        return Window(begin, begin + duration)
    except OverflowError:
        return None


def _first_start(wanted: _Wanted, stretch: _Stretch, shape: Shape) -> int | None:
    """Return the first start of the stretch at which the wanted amount fits, None if there is none."""
    first, last, rows = stretch.first, stretch.last, stretch.rows
    common = last - shape.before, first + shape.after
    if common[0] < common[1]:
        # What fits in the time that all these windows have in common bounds what any of them can give, in all and on
        # each row; for a single window it is exact.
        counts = wanted.fitting(common, rows)
        if counts.sum() < wanted.amount:
            return None
        rows = counts > 0
    if first == last:
        return first
    starts = wanted.starts(rows, first, last, shape)
    return first if starts.always >= wanted.amount else starts.first(wanted.amount)
