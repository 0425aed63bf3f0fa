"""The starts at which windows of one length have slots: each gap of a resource allows a range of starts, or none.

The number of slots at a start is the sum of the widths of the ranges that contain it. The sum grows only where a range
begins, so only these starts have to be checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leasehold.calendar.gaps import slot_gaps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.calendar.arrays import Counts, Mask, Seconds
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.calendar.sweep import Limit


@dataclass(frozen=True, slots=True)
class Shape:
    """A window from `start - before` to `start + after`, in seconds; starts are multiples of `grain`."""

    before: int
    after: int
    grain: int

    @property
    def length(self) -> int:
        """How long the window is, in seconds."""
        return self.before + self.after

    def up(self, moment: int) -> int:
        """Return the first possible start that is not before a moment."""
        return -(-moment // self.grain) * self.grain

    def down(self, moment: int) -> int:
        """Return the last possible start that is not after a moment."""
        return moment // self.grain * self.grain

    def window(self, first: int, last: int) -> tuple[int, int]:
        """Return the time in which all windows lie whose starts are from `first` to `last`."""
        return first - self.before, last + self.after

    def ranges(self, begins: Seconds, ends: Seconds) -> tuple[Seconds, Seconds]:
        """Return the first and the last start that each gap allows; the last is before the first if it allows none."""
        return -(-(begins + self.before) // self.grain) * self.grain, (ends - self.after) // self.grain * self.grain


@dataclass(frozen=True, slots=True)
class Starts:
    """Ranges of starts: `always` slots at every start, and those of ranges from `begins` to `ends`, both included.

    `opened` has how many slots the ranges up to each begin have, shape (ranges,), and `closed` how many slots those
    have that end before each end, shape (ranges + 1,). Begins and ends are in order.
    """

    always: int
    begins: Seconds
    opened: Counts
    ends: Seconds
    closed: Counts

    def first(self, amount: int) -> int | None:
        """Return the first begin of a range at which there are `amount` slots, None if there is none."""
        closed = self.closed[np.searchsorted(self.ends, self.begins)]
        enough = self.always + self.opened - closed >= amount
        return int(self.begins[enough.argmax()]) if enough.any() else None


def idle_starts(snapshot: Snapshot, rows: Mask, first: int, last: int, shape: Shape) -> Starts:
    """Return the starts from `first` to `last` at which these resource rows are wholly free, each as one slot."""
    # The order of the gaps is that of the ranges.
    begins, ends = shape.ranges(*snapshot.idle_periods(shape.window(first, last), rows, shape.length))
    fits = begins <= ends
    begins, ends = begins[fits], np.sort(ends[fits])
    counts = np.arange(begins.size + 1)
    return Starts(0, begins, counts[1:], ends, counts)


def slot_starts(
    snapshot: Snapshot,
    limits: Sequence[Limit],
    count: Callable[[Counts], Counts],
    empty: Counts,
    rows: Mask,
    first: int,
    last: int,
    shape: Shape,
) -> Starts:
    """Return the starts from `first` to `last` at which slots fit on these rows, as `count` counts them.

    `empty` has how many fit on each row without any allocation, shape (rows of the pool,).
    """
    window = shape.window(first, last)
    held = snapshot.held(window, rows)
    always = int(empty[rows].sum() - empty[held.rows[held.group_starts()]].sum())
    gaps = [slot_gaps(part, window, shape.length, limits, count) for part in held.parts()]
    if not gaps:
        nothing = np.zeros(0, np.int64)
        return Starts(always, nothing, nothing, nothing, np.zeros(1, np.int64))
    begins, ends, widths = (np.concatenate(column) for column in zip(*gaps, strict=True))
    begins, ends = shape.ranges(begins, ends)
    fits = begins <= ends
    begins, ends, widths = begins[fits], ends[fits], widths[fits]
    by_begin, by_end = np.argsort(begins), np.argsort(ends)
    closed = np.concatenate([[0], np.cumsum(widths[by_end])])
    return Starts(always, begins[by_begin], np.cumsum(widths[by_begin]), ends[by_end], closed)
