"""Outlines: how much of each resource is surely taken, stretch by stretch, so that a search can skip whole weeks.

Time ahead is cut into stretches of one length. For every resource row and stretch an outline keeps the least and the
most that is taken within it, of each class that was ever asked for. A window takes no less than the least of every
stretch that it touches, and no less than the most of every stretch that it covers.

The invariant: what an outline says is taken is taken. Amounts are rounded down to 16 bits, so that ten thousand hosts
with three classes and a hundred stretches weigh 12 MB, and a look at one stretch takes a tenth of a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.sweep import steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Counts, Rows
    from leasehold.calendar.sweep import Held, Limit

MOST: Final = np.iinfo(np.int16).max
"""The largest amount that is kept, in units of the class: more than any resource has."""
_AT_ONCE: Final = 32_768


@dataclass(frozen=True, slots=True)
class Grid:
    """The stretches of time: `count` of `width` seconds each, from `start` on."""

    start: int
    width: int
    count: int

    @property
    def window(self) -> tuple[int, int]:
        """The time from the first stretch to the last."""
        return self.start, self.start + self.width * self.count

    def stretch(self, moment: int) -> int | None:
        """Return the stretch that a moment lies in, None before the first and after the last."""
        place = (moment - self.start) // self.width
        return place if 0 <= place < self.count else None

    def edge(self, stretches: int) -> int:
        """Return the moment at which so many stretches are over and the next begins."""
        return self.start + stretches * self.width

    def common(self, first: int, last: int, length: int) -> tuple[int, int, int, int]:
        """Say which stretches the windows of this length have in common that begin from `first` to `last`.

        Returns four places: from the first to the fourth all are touched, from the second to the third all are
        covered.
        """
        touched = (last - self.start) // self.width, (first + length - 1 - self.start) // self.width + 1
        covers = -(-(last - self.start) // self.width), (first + length - self.start) // self.width
        begin, end = touched[0], min(max(touched), self.count)
        inner = min(max(covers[0], begin), end)
        return begin, inner, max(inner, min(covers[1], end)), end


@dataclass(frozen=True, slots=True)
class Outline:
    """The least and the most that is taken of one class: one line per stretch, one column per resource row."""

    shift: int
    floors: NDArray[np.int16]
    peaks: NDArray[np.int16]

    @classmethod
    def empty(cls, stretches: int, capacity: Counts) -> Outline:
        """Return the outline of resources on which nothing is taken, in units that can tell full from half empty."""
        shift = max(0, int(capacity.max(initial=0)).bit_length() - MOST.bit_length() + 1)
        shape = stretches, capacity.size
        return cls(shift, np.zeros(shape, np.int16), np.zeros(shape, np.int16))

    def draw(self, rows: Rows, floors: Counts, peaks: Counts) -> None:
        """Put down what was found for these resource rows: one line per row, one column per stretch."""
        for kept, found in ((self.floors, floors), (self.peaks, peaks)):
            kept[:, rows] = np.minimum(found >> self.shift, MOST).T

    def wipe(self, rows: Rows) -> None:
        """Forget what was drawn for these resource rows."""
        self.floors[:, rows] = 0
        self.peaks[:, rows] = 0

    def taken(self, places: tuple[int, int, int, int]) -> Counts:
        """Return what is taken of each row at least in every window that has these stretches (`Grid.common`)."""
        begin, inner, outer, end = places
        parts = self.floors[begin:inner], self.peaks[inner:outer], self.floors[outer:end]
        lines = [np.maximum.reduce(part) for part in parts if len(part)]
        least: Counts = np.maximum.reduce(lines).astype(np.int64)
        least <<= self.shift
        return least


@dataclass(frozen=True, slots=True)
class Outlook:
    """Bounds for the slots that windows to come can have, from the outlines of what limits them.

    Of the resource rows in `unknown` nothing is known: an amendment looks past its own promises there.
    """

    grid: Grid
    outlines: Sequence[tuple[Limit, Outline]]
    unknown: Rows

    def at_most(self, first: int, last: int, length: int) -> Counts:
        """Return how many slots each row can give at most to a window of this length.

        That is any window which begins from `first` to `last`, moments in the grid.
        """
        places = self.grid.common(first, last, length)
        bounds = []
        for limit, outline in self.outlines:
            taken = outline.taken(places)
            taken[self.unknown] = 0
            bounds.append(limit.fitting(slice(None), taken))
        counts: Counts = np.minimum.reduce(bounds)
        return counts


def drawn(held: Held, grid: Grid, amounts: Sequence[Counts]) -> Iterator[tuple[Rows, list[tuple[Counts, Counts]]]]:
    """Yield the resource rows of `held`, some at a time, with the floors and peaks of each class.

    `amounts` are what one slot of each demand code takes.
    """
    for part in held.parts(_AT_ONCE):
        rows, moments, used = steps(part, grid.window, [part.taken(each) for each in amounts])
        # Promises that meet make steps of no length, which nothing can lie in.
        lasting = np.flatnonzero(moments[:-1] < moments[1:])
        begins, ends = moments[lasting], moments[lasting + 1]
        steps_of = _Steps.of(rows[lasting], begins, ends, grid)
        yield part.rows[part.group_starts()], [steps_of.extremes(amount[lasting]) for amount in used]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of some rows, cut into cells: a cell is one stretch of one row.

    `first` is where the steps of each cell that has any begin; `entry` is the step that lasts from an earlier cell into
    this one, where `enters`.
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
        """Return the least and the most of `used` in each cell."""
        entering = used[self.entry]
        floors = np.where(self.enters, entering, np.iinfo(np.int64).max)
        peaks = np.where(self.enters, entering, 0)
        floors[self.cells] = np.minimum(floors[self.cells], np.minimum.reduceat(used, self.first))
        peaks[self.cells] = np.maximum(peaks[self.cells], np.maximum.reduceat(used, self.first))
        return floors.reshape(self.shape), peaks.reshape(self.shape)
