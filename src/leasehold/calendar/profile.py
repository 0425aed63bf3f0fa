"""How many units are free at every instant of a window: an exact step function over many resources (feature G3).

A unit is a slot of a demand, or a whole resource. Take the books of a moment with `free_of`, and count them with
`FreeUnits.steps`, which needs the snapshot no more: so no decision waits for the counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leasehold.calendar.snapshot import fitting
from leasehold.calendar.sweep import Held, Limit, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.calendar.arrays import Counts, Mask, Rows, Seconds
    from leasehold.calendar.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Units:
    """What is counted: units of `demand` on the rows of `matches`, at most `most` on each; None is a whole resource."""

    matches: Mask
    demand: Mapping[str, int] | None = None
    most: int | None = None

    def limits(self, snapshot: Snapshot) -> list[Limit]:
        """Return what bounds the units on each resource."""
        return [snapshot.whole()] if self.demand is None else snapshot.limits(self.demand)

    def capped(self, counts: Counts) -> Counts:
        """Return these counts of units of single resources, at most as many as may be on one."""
        return counts if self.most is None else np.minimum(counts, self.most)


@dataclass(frozen=True, slots=True)
class FreeUnits:
    """The books of a window: its allocations on the counted resources, and what these have while nothing is taken.

    `total` counts the units of all matching resources, and `usable` those of resources that a new allocation may use.
    `margin` is the cleaning time in seconds, which has to be free on both sides of an allocation, and `lead` the time
    before it that has to be free as well, as far as it lies in the `padded` window.
    """

    window: tuple[int, int]
    padded: tuple[int, int]
    margin: int
    lead: int
    units: Units
    limits: Sequence[Limit]
    empty: Counts
    held: Held
    total: int
    usable: int

    def steps(self, check: Callable[[], None]) -> tuple[Seconds, Counts]:
        """Return the moments at which the number of free units changes, and that number from then on.

        The first moment is the start of the window. Both have shape (steps,). An allocation that begins at a moment
        and lasts for a second gets as many units as are free at that moment, and one that lasts longer at most the
        fewest that are free meanwhile. `check` is called between the parts of the work, and may raise.
        """
        found = [(np.array([self.window[0]]), np.array([self.usable]))]
        for part in self.held.parts():
            check()
            found.append(self._changes(part))
        moments, changes = (np.concatenate(each) for each in zip(*found, strict=True))
        times, places = np.unique(moments, return_inverse=True)
        free = np.cumsum(np.bincount(places, weights=changes, minlength=times.size).astype(np.int64))
        kept = np.diff(free, prepend=free[0] - 1) != 0
        return times[kept], free[kept]

    def _changes(self, part: Held) -> tuple[Seconds, Counts]:
        """Return by how much what is free on some resources changes, at which moments."""
        rows, moments, taken = steps(part, self.padded, [limit.taken(part) for limit in self.limits])
        # Where one allocation ends and the next begins, a step has no length. The last step of a row is the end.
        lasting = np.flatnonzero(moments[:-1] < moments[1:])
        rows, moments = rows[lasting], moments[lasting]
        bounds = [limit.fitting(rows, used[lasting]) for limit, used in zip(self.limits, taken, strict=True)]
        free = self.units.capped(np.minimum.reduce(bounds))
        if self.margin or self.lead:
            rows, moments, free = self._narrowed(rows, moments, free)
        before = np.append(0, free[:-1])
        first = np.diff(rows, prepend=-1) != 0
        before[first] = self.empty[rows[first]]
        return moments, free - before

    def _narrowed(self, rows: Rows, moments: Seconds, free: Counts) -> tuple[Rows, Seconds, Counts]:
        """Return the steps of the least that is free near each moment: margin and lead before it, and margin after it.

        The given steps cover the padded window of each row, in order; the returned ones cover the window itself.
        """
        begin, width = self.padded[0], self.padded[1] - self.padded[0] + 1
        first, over = self.window[0] - begin, self.window[1] - begin
        group = np.cumsum(np.diff(rows, prepend=rows[0]) != 0)
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        offsets, back = moments - begin, self.margin + self.lead
        begins = group * width + offsets
        # What is free may change where a step comes within reach, and where one goes out of it.
        groups = np.concatenate([group, group, group[firsts]])
        changes = np.concatenate([offsets - self.margin, offsets + back, np.full(firsts.size, first)])
        inner = (changes >= first) & (changes < over)
        places = np.unique((groups * width + changes)[inner])
        of = places // width
        lowest = np.searchsorted(begins, np.maximum(places - back, of * width), side="right") - 1
        highest = np.searchsorted(begins, places + self.margin, side="right")
        pairs = np.stack([lowest, highest], axis=1).ravel()
        least = np.minimum.reduceat(np.append(free, 0), pairs)[::2]
        return rows[firsts][of], places % width + begin, least


def free_of(
    snapshot: Snapshot, units: Units, window: tuple[int, int], margin: int, lead: int = 0, now: int = 0
) -> FreeUnits:
    """Return the books of a window in seconds since the epoch; they stay valid when the snapshot does not.

    Nothing has to be free for the lead before `now`, which is not after the window's start.
    """
    padded = max(window[0] - lead, min(now, window[0])) - margin, window[1] + margin
    limits, usable = units.limits(snapshot), units.matches & snapshot.eligible.bookable()
    whole = units.capped(fitting(limits))
    held = snapshot.held(padded, usable & (whole > 0))
    total, left = (int(whole[rows].sum()) for rows in (units.matches, usable))
    return FreeUnits(window, padded, margin, lead, units, limits, whole, held, total, left)
