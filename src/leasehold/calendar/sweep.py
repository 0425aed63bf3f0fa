"""Step functions: how much of each resource is taken at every instant of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leasehold.calendar.arrays import ALL_OF_IT, MOST_SLOTS, Counts, Rows, Seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Held:
    """Allocations that touch a window, in the order of (resource row, start).

    `ends` already includes the wait for a release; `demands` are codes of the pool's `DemandTable`.
    """

    rows: Rows
    starts: Seconds
    ends: Seconds
    slots: Counts
    demands: NDArray[np.int32]

    def __len__(self) -> int:
        return self.rows.size

    def part(self, chosen: slice | NDArray[np.bool_]) -> Held:
        """Return some of the allocations, in the same order."""
        return Held(self.rows[chosen], self.starts[chosen], self.ends[chosen], self.slots[chosen], self.demands[chosen])

    def group_starts(self) -> Rows:
        """Return where each resource row's allocations begin."""
        new = np.empty(len(self), np.bool_)
        new[:1] = True
        np.not_equal(self.rows[1:], self.rows[:-1], out=new[1:])
        return np.flatnonzero(new)

    def parts(self, size: int) -> Iterator[Held]:
        """Cut the allocations between resource rows into parts of about `size`."""
        firsts = self.group_starts()
        start = 0
        while start < len(self):
            place = np.searchsorted(firsts, start + size)
            end = len(self) if place >= firsts.size else int(firsts[place])
            yield self.part(slice(start, end))
            start = end

    def groups(self, firsts: Rows) -> Rows:
        """Return for each allocation the position of its resource row among those of `group_starts`."""
        return np.repeat(np.arange(firsts.size), np.diff(firsts, append=len(self)))

    def taken(self, amounts: Counts) -> Counts:
        """Return what each allocation takes, where `amounts` has what one slot of each demand code takes."""
        taken: Counts = np.minimum(amounts[self.demands] * self.slots, ALL_OF_IT)
        return taken

    def within(self, window: tuple[int, int]) -> tuple[Seconds, Seconds]:
        """Return starts and ends cut to the window."""
        return np.maximum(self.starts, window[0]), np.minimum(self.ends, window[1])


@dataclass(frozen=True, slots=True)
class Limit:
    """One thing that bounds how many slots fit: at most `(capacity - what is taken) // share`.

    `capacity` has one amount per resource row, `amounts` the amount that one slot of each demand code takes. `name` is
    the resource class.
    """

    name: str
    capacity: Counts
    amounts: Counts
    share: int

    def taken(self, held: Held) -> Counts:
        """Return what each allocation takes."""
        return held.taken(self.amounts)

    def fitting(self, rows: Rows | slice, taken: Counts | int) -> Counts:
        """Return how many slots fit on these rows beside what is taken."""
        counts: Counts = self.capacity[rows] - taken
        counts //= self.share
        np.maximum(counts, 0, out=counts)
        np.minimum(counts, MOST_SLOTS, out=counts)
        return counts


def fewest(held: Held, window: tuple[int, int], limits: Sequence[Limit]) -> tuple[Rows, Counts]:
    """Return each resource row of `held` and how many slots fit on it at its busiest instant.

    `held` is what touches the window and has at least one allocation.
    """
    firsts = held.group_starts()
    rows = held.rows[firsts]
    begun = held.starts <= window[0]
    taken = [limit.taken(held) for limit in limits]
    # Between what fits beside all that touch and what fits at the start there is often nothing left to find out.
    bounds = [limit.fitting(rows, np.add.reduceat(amount, firsts)) for limit, amount in zip(limits, taken, strict=True)]
    least: Counts = np.minimum.reduce(bounds)
    most = np.full(rows.size, MOST_SLOTS)
    for limit, amount in zip(limits, taken, strict=True):
        np.minimum(most, limit.fitting(rows, np.add.reduceat(amount * begun, firsts)), out=most)
    # Where the last one to start does so before the first one ends, all hold at once and the former is exact too.
    apart = np.minimum.reduceat(held.ends, firsts) <= np.maximum.reduceat(held.starts, firsts)
    unsure = apart & (least < most)
    if unsure.any():
        swept = np.repeat(unsure, np.diff(firsts, append=len(held)))
        # A class of which there is always more than of the others cannot be the one that limits.
        chosen = [n for n, bound in enumerate(bounds) if (bound[unsure] < most[unsure]).any()]
        part, amounts = held.part(swept), [taken[n][swept] for n in chosen]
        least[unsure] = np.minimum(most[unsure], _fewest_swept(part, window, [limits[n] for n in chosen], amounts))
    return rows, least


def _fewest_swept(held: Held, window: tuple[int, int], limits: Sequence[Limit], taken: Sequence[Counts]) -> Counts:
    firsts = held.group_starts()
    order, _ = _events(held.groups(firsts), *held.within(window), window)
    # Every allocation has two events, so the groups lie where they lay, twice as long.
    peaks = [np.maximum.reduceat(_running(order, amount), 2 * firsts) for amount in taken]
    rows = held.rows[firsts]
    least: Counts = np.minimum.reduce([limit.fitting(rows, peak) for limit, peak in zip(limits, peaks, strict=True)])
    return least


def steps(held: Held, window: tuple[int, int], taken: Sequence[Counts]) -> tuple[Rows, Seconds, list[Counts]]:
    """Return the step function of each resource row of `held` over the window.

    Returns for every step its resource row, the moment at which it begins and what is then taken, for each amount in
    `taken`; a step lasts until the next one, and may have no length. Every row has a step at the start of the window
    and its last one at the end.
    """
    start, end = window
    firsts = held.group_starts()
    count = firsts.size
    # Beside its allocations every row gets one that takes nothing, from the window's start to its end.
    groups = np.concatenate([held.groups(firsts), np.arange(count)])
    begins, ends = held.within(window)
    begins, ends = np.concatenate([begins, np.full(count, start)]), np.concatenate([ends, np.full(count, end)])
    order, moments = _events(groups, begins, ends, window)
    nothing = np.zeros(count, np.int64)
    usage = [_running(order, np.concatenate([amount, nothing])) for amount in taken]
    sizes = 2 * (np.diff(firsts, append=len(held)) + 1)
    return np.repeat(held.rows[firsts], sizes), moments, usage


def _events(groups: Rows, begins: Seconds, ends: Seconds, window: tuple[int, int]) -> tuple[Rows, Seconds]:
    """Return the order of 2n events, all ends and then all begins, and their moments in that order.

    They are sorted by group, moment and, so that touching promises do not add up, ends before begins. All lie within
    the window.
    """
    start, end = window
    moment_bits, place_bits = (end - start).bit_length(), (2 * groups.size).bit_length()
    high = groups.astype(np.int64) << (moment_bits + 1)
    keys = np.concatenate([high + ((ends - start) << 1), high + ((begins - start) << 1) + 1])
    if ((int(groups[-1]) + 1) << (moment_bits + 1)).bit_length() + place_bits < np.iinfo(np.int64).bits:
        # Sorting values is several times faster than sorting places, so the place goes into the value.
        keys = np.sort((keys << place_bits) + np.arange(keys.size))
        order = keys & ((1 << place_bits) - 1)
        keys >>= place_bits
    else:
        order = np.argsort(keys)
        keys = keys[order]
    return order, ((keys >> 1) & ((1 << moment_bits) - 1)) + start


def _running(order: Rows, amount: Counts) -> Counts:
    # Every allocation both begins and ends within its group, so the sum is back at zero where a group starts.
    change = np.concatenate([-amount, amount])[order]
    return np.cumsum(change, out=change)
