"""When resources are idle: all periods without any allocation, kept in the order in which they begin.

A search for whole resources reads them instead of all allocations. They are computed when the first such search asks,
and after that again only for the resource rows whose allocations changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leasehold.calendar.gaps import idle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Mask, Seconds
    from leasehold.calendar.sweep import Held


@dataclass(frozen=True, slots=True)
class IdlePeriods:
    """Periods in which a resource row has no allocation, by begin; 20 bytes for each of them.

    `begins` and `ends` are in seconds since the epoch. All arrays have shape (periods,).
    """

    rows: NDArray[np.int32]
    begins: Seconds
    ends: Seconds

    @classmethod
    def joined(cls, parts: Iterable[IdlePeriods], most: int) -> IdlePeriods:
        """Return the periods of all these parts, `most` at most; one part at a time is in memory beside the result."""
        rows, begins, ends = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
        count = 0
        for part in parts:
            place = slice(count, count + part.rows.size)
            rows[place], begins[place], ends[place] = part.rows, part.begins, part.ends
            count = place.stop
        order = np.argsort(begins[:count], kind="stable")
        return cls(rows[order], begins[order], ends[order])

    @classmethod
    def of(cls, rows: Mask, held: Held, window: tuple[int, int]) -> IdlePeriods:
        """Return the periods within the window of these resource rows, whose allocations are `held`."""
        empty = rows.copy()
        empty[held.rows] = False
        always = np.flatnonzero(empty)
        busy, begins, ends = idle(held, window, 1)
        whole_window = (np.full(always.size, moment) for moment in window)
        begins, ends = (np.concatenate(pair) for pair in zip((begins, ends), whole_window, strict=True))
        found = np.concatenate([busy, always]).astype(np.int32)
        order = np.argsort(begins, kind="stable")
        return cls(found[order], begins[order], ends[order])

    def but(self, rows: Mask, others: IdlePeriods) -> IdlePeriods:
        """Return these periods with those of some resource rows replaced by `others`."""
        kept = np.flatnonzero(~rows[self.rows])
        places = np.searchsorted(self.begins[kept], others.begins)
        return IdlePeriods(
            np.insert(self.rows[kept], places, others.rows),
            np.insert(self.begins[kept], places, others.begins),
            np.insert(self.ends[kept], places, others.ends),
        )

    def within(self, window: tuple[int, int], rows: Mask, shortest: int) -> tuple[Seconds, Seconds]:
        """Return the begins and ends, cut to the window, of these rows' periods of at least `shortest` seconds."""
        until = int(np.searchsorted(self.begins, window[1] - shortest, side="right"))
        begins, ends = np.maximum(self.begins[:until], window[0]), np.minimum(self.ends[:until], window[1])
        long = ends - begins >= shortest
        long &= rows[self.rows[:until]]
        return begins[long], ends[long]
