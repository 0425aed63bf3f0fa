"""Outlines: lower bounds of how much of each resource is taken over time, so that a search can skip whole weeks.

The time ahead is cut into stretches of equal length. For every resource row and stretch an outline keeps the least and
the most that is taken within it, one outline for each class that was asked for. The peak use in a window is at least
the least of every stretch that the window touches, and at least the most of every stretch that it covers.

Invariant: an outline never says that more is taken than is taken. Amounts are rounded down to 16 bits, so ten thousand
hosts with three classes and a hundred stretches need 12 MB, and reading one stretch takes a tenth of a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.sweep import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Counts, Rows
    from leasehold.calendar.sweep import Held, Limit

MOST: Final = np.iinfo(np.int16).max
"""The largest amount that is stored, after the shift: more than the capacity of any resource."""
_AT_ONCE: Final = 4_096
"""How many allocations are drawn at a time, which bounds the memory: they may be of as many rows, each with a cell in
every stretch."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The stretches of time: `count` of `width` seconds each, from `start`, in seconds since the epoch."""

    start: int
    width: int
    count: int

    @property
    def window(self) -> tuple[int, int]:
        """The start of the first stretch and the end of the last, in seconds since the epoch."""
        return self.start, self.start + self.width * self.count

    def stretch(self, moment: int) -> int | None:
        """Return the index of the stretch that a moment lies in, None before the first and after the last."""
        place = (moment - self.start) // self.width
        return place if 0 <= place < self.count else None

    def edge(self, stretches: int) -> int:
        """Return the moment at which this many stretches are over and the next begins."""
        return self.start + stretches * self.width

    def common(self, first: int, last: int, length: int) -> tuple[int, int, int, int]:
        """Return the stretches that all windows of this length have in common that begin from `first` to `last`.

        Returns four indices: every window touches the stretches from the first index to the fourth, and covers those
        from the second to the third.
        """
        touched = (last - self.start) // self.width, (first + length - 1 - self.start) // self.width + 1
        covers = -(-(last - self.start) // self.width), (first + length - self.start) // self.width
        begin, end = touched[0], min(max(touched), self.count)
        inner = min(max(covers[0], begin), end)
        return begin, inner, max(inner, min(covers[1], end)), end


@dataclass(frozen=True, slots=True)
class Outline:
    """The least and the most that is taken of one class, shape (stretches, rows), in units of 2**`shift`."""

    shift: int
    floors: NDArray[np.int16]
    peaks: NDArray[np.int16]

    @classmethod
    def empty(cls, stretches: int, capacity: Counts) -> Outline:
        """Return the outline of resources with nothing taken, shifted so that the largest capacity fits 14 bits."""
        shift = max(0, int(capacity.max(initial=0)).bit_length() - MOST.bit_length() + 1)
        shape = stretches, capacity.size
        return cls(shift, np.zeros(shape, np.int16), np.zeros(shape, np.int16))

    def draw(self, rows: Rows, floors: Counts, peaks: Counts) -> None:
        """Store floors and peaks of these resource rows, each of shape (rows, stretches), in units of the class."""
        for kept, found in ((self.floors, floors), (self.peaks, peaks)):
            kept[:, rows] = np.minimum(found >> self.shift, MOST).T

    def wipe(self, rows: Rows) -> None:
        """Set the floors and peaks of these resource rows to 0."""
        self.floors[:, rows] = 0
        self.peaks[:, rows] = 0

    def taken(self, places: tuple[int, int, int, int]) -> Counts:
        """Return a lower bound of what is taken of each row in the windows with these stretches (`Grid.common`)."""
        begin, inner, outer, end = places
        parts = self.floors[begin:inner], self.peaks[inner:outer], self.floors[outer:end]
        lines = [np.maximum.reduce(part) for part in parts if len(part)]
        least: Counts = np.maximum.reduce(lines).astype(np.int64)
        least <<= self.shift
        return least

    def taken_each(self, first: int, count: int, covered: int, touched: int) -> Counts:
        """Return what `taken` returns for each of some stretches, of windows that begin in it; shape (count, rows).

        These cover what comes before the stretch `covered` after it, and touch what comes before that of `touched`.
        """
        least = self.floors[first : first + count].copy()
        # What is after the last stretch is not known here, however long a window is: some last a hundred years.
        for after in range(1, min(touched, len(self.floors) - first)):
            part = (self.peaks if after < covered else self.floors)[first + after : first + after + count]
            np.maximum(least[: len(part)], part, out=least[: len(part)])
        return least.astype(np.int64) << self.shift


@dataclass(frozen=True, slots=True)
class Outlook:
    """Upper bounds of the slots in future windows, from the outlines of the classes that limit them.

    The rows in `unknown` are bounded as if they were empty: an amendment ignores its own allocations there.
    """

    grid: Grid
    outlines: Sequence[tuple[Limit, Outline]]
    unknown: Rows

    def at_most(self, first: int, last: int, length: int) -> Counts:
        """Return how many slots each row can give at most to a window of this length, shape (rows,).

        The bounds hold for every window that begins from `first` to `last`, which are moments in the grid.
        """
        places = self.grid.common(first, last, length)
        return self._beside(lambda outline: outline.taken(places))

    def at_most_each(self, first: int, count: int, length: int) -> Counts:
        """Return `at_most` for each of some stretches, of the windows that begin in it; shape (count, rows)."""
        covered, touched = length // self.grid.width, (length - 1) // self.grid.width + 1
        return self._beside(lambda outline: outline.taken_each(first, count, covered, touched))

    def _beside(self, taken_of: Callable[[Outline], Counts]) -> Counts:
        bounds = []
        for limit, outline in self.outlines:
            taken = taken_of(outline)
            taken[..., self.unknown] = 0
            bounds.append(limit.fitting(slice(None), taken))
        counts: Counts = np.minimum.reduce(bounds)
        return counts


def drawn(held: Held, grid: Grid, amounts: Sequence[Counts]) -> Iterator[tuple[Rows, list[tuple[Counts, Counts]]]]:
    """Yield the resource rows of `held`, some at a time, with the floors and peaks of each class.

    `amounts` has for each class what one slot of each demand code takes. Floors and peaks have shape (rows, stretches).
    """
    for part in held.parts(_AT_ONCE):
        rows, moments, used = steps(part, grid.window, [part.taken(each) for each in amounts])
        # Where one allocation ends and the next begins, a step has no length and does not count.
        lasting = np.flatnonzero(moments[:-1] < moments[1:])
        begins, ends = moments[lasting], moments[lasting + 1]
        steps_of = _Steps.of(rows[lasting], begins, ends, grid)
        yield part.rows[part.group_starts()], [steps_of.extremes(amount[lasting]) for amount in used]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of some rows, sorted into cells; a cell is one stretch of one row, and `shape` is (rows, stretches).

    `cells` are the cells in which a step begins, and `first` is the first such step of each. Where `enters` is true,
    the step `entry` lasts from an earlier cell into this one.
    """

    shape: tuple[int, int]
    cells: Rows
    first: Rows
    entry: Rows
    enters: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Rows, begins: Counts, ends: Counts, grid: Grid) -> _Steps:
        """Sort the steps into cells; every row has one at the start of the grid."""
        row = np.cumsum(np.diff(rows, prepend=rows[0]) != 0)
        shape = int(row[-1]) + 1, grid.count
        cell = row * grid.count + (begins - grid.start) // grid.width
        begun = np.bincount(cell, minlength=shape[0] * shape[1])
        cells = np.flatnonzero(begun)
        until = np.cumsum(begun)
        entry = np.concatenate([[0], until[:-1] - 1])
        starts = np.tile(grid.start + grid.width * np.arange(grid.count), shape[0])
        enters = ends[entry] > starts
        enters[:: grid.count] = False
        return cls(shape, cells, (until - begun)[cells], entry, enters)

    def extremes(self, used: Counts) -> tuple[Counts, Counts]:
        """Return the least and the most of `used` in each cell, both of shape (rows, stretches)."""
        entering = used[self.entry]
        floors = np.where(self.enters, entering, np.iinfo(np.int64).max)
        peaks = np.where(self.enters, entering, 0)
        floors[self.cells] = np.minimum(floors[self.cells], np.minimum.reduceat(used, self.first))
        peaks[self.cells] = np.maximum(peaks[self.cells], np.maximum.reduceat(used, self.first))
        return floors.reshape(self.shape), peaks.reshape(self.shape)
