"""Step functions: how much of each resource is taken at every instant of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.arrays import ALL_OF_IT, MOST_SLOTS, Counts, Rows, Seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

AT_ONCE: Final = 32_768
"""How many allocations are processed at a time, which bounds the memory."""


@dataclass(frozen=True, slots=True)
class Held:
    """Allocations that touch a window, in the order of (resource row, start); each array has shape (n,).

    `starts` and `ends` are seconds since the epoch, and `ends` already includes the wait for a release. `demands` are
    codes of the pool's `DemandTable`.
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
        """Return the index of the first allocation of each resource row, shape (groups,)."""
        new = np.empty(len(self), np.bool_)
        new[:1] = True
        np.not_equal(self.rows[1:], self.rows[:-1], out=new[1:])
        return np.flatnonzero(new)

    def parts(self, size: int = AT_ONCE) -> Iterator[Held]:
        """Split the allocations into parts of about `size`, with each resource row in one part only."""
        firsts = self.group_starts()
        start = 0
        while start < len(self):
            place = np.searchsorted(firsts, start + size)
            end = len(self) if place >= firsts.size else int(firsts[place])
            yield self.part(slice(start, end))
            start = end

    def groups(self, firsts: Rows) -> Rows:
        """Return for each allocation the index of its resource row in `group_starts`, shape (n,)."""
        return np.repeat(np.arange(firsts.size), np.diff(firsts, append=len(self)))

    def taken(self, amounts: Counts) -> Counts:
        """Return what each allocation takes, shape (n,); `amounts` has what one slot of each demand code takes."""
        taken: Counts = np.minimum(amounts[self.demands] * self.slots, ALL_OF_IT)
        return taken

    def within(self, window: tuple[int, int]) -> tuple[Seconds, Seconds]:
        """Return starts and ends, cut to the window."""
        return np.maximum(self.starts, window[0]), np.minimum(self.ends, window[1])


@dataclass(frozen=True, slots=True)
class Limit:
    """A resource class (`name`) that bounds how many slots fit: at most `(capacity - what is taken) // share`.

    `capacity` has one amount per resource row, `amounts` the amount that one slot of each demand code takes, and
    `share` is the amount of one wanted slot.
    """

    name: str
    capacity: Counts
    amounts: Counts
    share: int

    def taken(self, held: Held) -> Counts:
        """Return what each allocation takes of the class, shape (n,)."""
        return held.taken(self.amounts)

    def fitting(self, rows: Rows | slice, taken: Counts | int) -> Counts:
        """Return how many slots fit on these rows beside what is taken."""
        counts: Counts = self.capacity[rows] - taken
        counts //= self.share
        np.maximum(counts, 0, out=counts)
        np.minimum(counts, MOST_SLOTS, out=counts)
        return counts


def fewest(held: Held, window: tuple[int, int], limits: Sequence[Limit]) -> tuple[Rows, Counts]:
    """Return each resource row of `held` and how many slots fit on it at its busiest instant, both of shape (groups,).

    `held` has at least one allocation, and all of them touch the window.
    """
    firsts = held.group_starts()
    rows = held.rows[firsts]
    begun = held.starts <= window[0]
    taken = [limit.taken(held) for limit in limits]
    # `least` is what fits beside all allocations at once, `most` what fits at the window's start. Often both are equal.
    bounds = [limit.fitting(rows, np.add.reduceat(amount, firsts)) for limit, amount in zip(limits, taken, strict=True)]
    least: Counts = np.minimum.reduce(bounds)
    most = np.full(rows.size, MOST_SLOTS)
    for limit, amount in zip(limits, taken, strict=True):
        np.minimum(most, limit.fitting(rows, np.add.reduceat(amount * begun, firsts)), out=most)
    # If the last one starts before the first one ends, all take their amount at one instant, and `least` is exact too.
    apart = np.minimum.reduceat(held.ends, firsts) <= np.maximum.reduceat(held.starts, firsts)
    unsure = apart & (least < most)
    if unsure.any():
        swept = np.repeat(unsure, np.diff(firsts, append=len(held)))
        # Skip each class of which at least `most` slots fit on every row, even beside all allocations at once.
        chosen = [n for n, bound in enumerate(bounds) if (bound[unsure] < most[unsure]).any()]
        part, amounts = held.part(swept), [taken[n][swept] for n in chosen]
        least[unsure] = np.minimum(most[unsure], _fewest_swept(part, window, [limits[n] for n in chosen], amounts))
    return rows, least


def _fewest_swept(held: Held, window: tuple[int, int], limits: Sequence[Limit], taken: Sequence[Counts]) -> Counts:
    firsts = held.group_starts()
    order, _ = _events(held.groups(firsts), *held.within(window), window)
    # Every allocation has two events, so each group begins at twice its index.
    peaks = [np.maximum.reduceat(_running(order, amount), 2 * firsts) for amount in taken]
    rows = held.rows[firsts]
    least: Counts = np.minimum.reduce([limit.fitting(rows, peak) for limit, peak in zip(limits, peaks, strict=True)])
    return least


def steps(held: Held, window: tuple[int, int], taken: Sequence[Counts]) -> tuple[Rows, Seconds, list[Counts]]:
    """Return the step function of each resource row of `held` over the window, in arrays of shape (steps,).

    Returns for every step its resource row, the moment at which it begins and what is taken from then on, with one
    array for each amount in `taken`. A step lasts until the next one, and may have no length. Every row has a step at
    the start of the window, and its last one at the end.
    """
    start, end = window
    firsts = held.group_starts()
    count = firsts.size
    # Give every row one more allocation that takes nothing, from the window's start to its end.
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

    They are sorted by group, then by moment, then ends before begins, so that allocations that meet do not add up. All
    moments lie within the window.
    """
    start, end = window
    moment_bits, place_bits = (end - start).bit_length(), (2 * groups.size).bit_length()
    high = groups.astype(np.int64) << (moment_bits + 1)
    keys = np.concatenate([high + ((ends - start) << 1), high + ((begins - start) << 1) + 1])
    if ((int(groups[-1]) + 1) << (moment_bits + 1)).bit_length() + place_bits < np.iinfo(np.int64).bits:
        # `sort` is several times faster than `argsort`, so the index goes into the low bits of the key.
        keys = np.sort((keys << place_bits) + np.arange(keys.size))
        order = keys & ((1 << place_bits) - 1)
        keys >>= place_bits
    else:
        order = np.argsort(keys)
        keys = keys[order]
    return order, ((keys >> 1) & ((1 << moment_bits) - 1)) + start


def _running(order: Rows, amount: Counts) -> Counts:
    # Every allocation begins and ends within its group, so the sum is zero where a group starts.
    change = np.concatenate([-amount, amount])[order]
    return np.cumsum(change, out=change)
