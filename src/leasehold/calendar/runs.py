"""Runs: the range of each resource row in sorted allocations, so that finding few rows does not read all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Mask, Rows


class Runs:
    """The positions of each resource row in a sorted column: row `r` has those from `firsts[r]` to `firsts[r + 1]`.

    Costs one binary search per row; valid until the column is sorted again.
    """

    def __init__(self, rows: NDArray[np.int32]) -> None:
        """Find the ranges in a sorted column of resource rows."""
        count = int(rows[-1]) + 1 if rows.size else 0
        self.firsts: Rows = np.searchsorted(rows, np.arange(count + 1, dtype=rows.dtype))
        self.present: Rows = np.flatnonzero(np.diff(self.firsts))

    def places(self, rows: Rows) -> Rows:
        """Return the positions of these rows, ascending when the rows are; the cost grows only with their number."""
        rows = rows[rows < self.firsts.size - 1]
        begins = self.firsts[rows]
        sizes = self.firsts[rows + 1] - begins
        return np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())

    def touched(self, places: Mask) -> Rows:
        """Return the rows that have at least one of the chosen positions; `places` has one boolean per position."""
        if not self.present.size:
            return self.present
        return self.present[np.logical_or.reduceat(places, self.firsts[self.present])]
