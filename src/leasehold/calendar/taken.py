"""What others have of each row, without whose it is: runs of whole resources, and steps of the sum of parts.

Where one lease ends and the next begins is not told, also if the time between them is too short to be leased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.calendar.arrays import Counts, Mask, Rows, Seconds


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken, in any order; each array has shape (n,).

    A resource row is taken over `[starts, ends)`: as a whole, or by the `amounts` of each resource class, which are 0
    for whole ones. All ends are later than the starts.
    """

    rows: Rows
    starts: Seconds
    ends: Seconds
    whole: Mask
    amounts: Mapping[str, Counts]

    def merged(self, gaps: Seconds) -> Taken:
        """Return the same time without overlaps and in the order of (row, start), with as few parts as possible.

        A whole resource that is free in between for no longer than the seconds of `gaps`, of which each row has one,
        counts as taken throughout. Where a whole resource is taken, parts of it count nothing.
        """
        rows, moments, whole, amounts = self._steps()
        # A step lasts until the next one of its row; the last one of a row takes nothing.
        busy = whole.copy()
        for each in amounts.values():
            busy |= each > 0
        places = np.flatnonzero(busy)
        starts, ends = moments[places], moments[np.minimum(places + 1, moments.size - 1)]
        steps = Taken(rows[places], starts, ends, whole[places], {name: each[places] for name, each in amounts.items()})
        return steps._joined(gaps)

    def _steps(self) -> tuple[Rows, Seconds, Mask, dict[str, Counts]]:
        """Return row, moment and what is taken from then on, at each moment at which something begins or ends."""
        rows, moments = np.concatenate([self.rows, self.rows]), np.concatenate([self.starts, self.ends])
        order = np.lexsort((moments, rows))
        rows, moments = rows[order], moments[order]
        last = np.append((rows[1:] != rows[:-1]) | (moments[1:] != moments[:-1]), True)

        def running(change: Counts) -> Counts:
            found: Counts = np.cumsum(np.concatenate([change, -change])[order])[last]
            return found

        whole = running(self.whole.astype(np.int64)) > 0
        amounts = {name: np.where(whole, 0, running(each)) for name, each in self.amounts.items()}
        return rows[last], moments[last], whole, amounts

    def _joined(self, gaps: Seconds) -> Taken:
        """Return ordered parts, with those joined that follow each other in a row and are equal."""
        if not self.rows.size:
            return self
        apart = self.starts[1:] - self.ends[:-1]
        same = self.rows[1:] == self.rows[:-1]
        near = (apart == 0) | (self.whole[1:] & self.whole[:-1] & (apart <= gaps[self.rows[1:]]))
        for each in (self.whole, *self.amounts.values()):
            same &= each[1:] == each[:-1]
        firsts = np.flatnonzero(np.append(True, ~(same & near)))
        lasts = np.append(firsts[1:], self.rows.size) - 1
        amounts = {name: each[firsts] for name, each in self.amounts.items()}
        return Taken(self.rows[firsts], self.starts[firsts], self.ends[lasts], self.whole[firsts], amounts)

    def __iter__(self) -> Iterator[tuple[int, int, int, tuple[tuple[str, int], ...] | None]]:
        """Yield row, start, end and what is taken of the row, None for all of it."""
        names = sorted(self.amounts)
        columns = [self.amounts[name].tolist() for name in names]
        each = zip(self.rows.tolist(), self.starts.tolist(), self.ends.tolist(), self.whole.tolist(), strict=True)
        for place, (row, start, end, whole) in enumerate(each):
            parts = ((name, column[place]) for name, column in zip(names, columns, strict=True) if column[place])
            yield row, start, end, None if whole else tuple(parts)
