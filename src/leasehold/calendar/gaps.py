"""Gaps: the longest periods in which resources have free slots.

A gap of a resource row is a period in which at least one more slot stays free than just outside it. Its width, in
slots, is the lowest number of free slots within it minus the higher of the numbers just before and after it. The number
of slots that a row can give for a whole window is the sum of the widths of the gaps that contain the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from leasehold.calendar.arrays import Counts, Seconds
from leasehold.calendar.demands import EXCLUSIVE
from leasehold.calendar.sweep import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.calendar.arrays import Mask, Rows
    from leasehold.calendar.sweep import Held, Limit

Gaps: TypeAlias = tuple[Seconds, Seconds, Counts]
"""The begins and ends of gaps, in seconds since the epoch, and their widths, in slots; each of shape (gaps,)."""


def slot_gaps(
    held: Held, window: tuple[int, int], shortest: int, limits: Sequence[Limit], count: Callable[[Counts], Counts]
) -> Gaps:
    """Return the gaps of the slots that the limits leave on the resource rows of `held`, as `count` counts them.

    This and the functions below leave out gaps shorter than `shortest` seconds.
    """
    held = _without_hopeless(held, window, shortest)
    if not len(held):
        return held.starts, held.ends, held.slots
    rows, moments, used = steps(held, window, [limit.taken(held) for limit in limits])
    room = np.minimum.reduce([limit.fitting(rows, taken) for limit, taken in zip(limits, used, strict=True)])
    # A step at the end of the window has no length; its level -1 keeps the gaps of neighbouring rows apart.
    levels = np.where(moments < window[1], count(room), -1)
    changes = np.empty(levels.size, np.bool_)
    changes[:1] = True
    np.not_equal(levels[1:], levels[:-1], out=changes[1:])
    begins, ends, widths = _between_lower(np.append(-1, levels[changes]), np.append(window[0], moments[changes]))
    long = ends - begins >= shortest
    return begins[long], ends[long], widths[long]


def _without_hopeless(held: Held, window: tuple[int, int], shortest: int) -> Held:
    """Leave out the resource rows that exclusive allocations never leave free for long enough; this check is cheap."""
    exclusive = held.demands == EXCLUSIVE
    if not exclusive.any():
        return held
    whole = held.part(exclusive)
    hopeful = np.ones(int(held.rows[-1]) + 1, np.bool_)
    hopeful[whole.rows] = False
    hopeful[idle(whole, window, shortest)[0]] = True
    return held.part(hopeful[held.rows])


def idle(held: Held, window: tuple[int, int], shortest: int) -> tuple[Rows, Seconds, Seconds]:
    """Return the periods in which the resource rows of `held` have no allocation: rows, begins and ends."""
    if not len(held):
        return held.rows, held.starts, held.ends
    start, end = window
    firsts = held.group_starts()
    begins, ends = held.within(window)
    # Until when all allocations so far take the row. An offset per group lets one accumulation cover all groups.
    apart = held.groups(firsts) * (end - start + 1)
    until = np.maximum.accumulate(apart + ends) - apart
    lasts = np.append(firsts[1:], len(held)) - 1
    opens = np.append(start, until[:-1])
    opens[firsts] = start
    opens = np.concatenate([opens, until[lasts]])
    closes = np.concatenate([begins, np.full(lasts.size, end)])
    long = closes - opens >= shortest
    return np.concatenate([held.rows, held.rows[lasts]])[long], opens[long], closes[long]


def _between_lower(levels: Counts, moments: Seconds) -> Gaps:
    """Return the gaps of a step function that has the level -1 at both ends and between rows."""
    some = np.flatnonzero(levels > 0)
    left = _nearest(levels, some, -1, np.greater)
    right = _nearest(levels, some, 1, np.greater_equal)
    # Of steps at equal levels with nothing lower between them, keep the first.
    some = some[levels[left[some]] < levels[some]]
    left, right = left[some], right[some]
    widths = levels[some] - np.maximum(np.maximum(levels[left], levels[right]), 0)
    return moments[left + 1], moments[right], widths


def _nearest(levels: Counts, some: Rows, step: int, passes: Callable[[Counts, Counts], Mask]) -> Rows:
    """Return for each step in `some` the nearest step on one side whose level does not pass its own level.

    `passes(levels there, own levels)` decides; `step` is -1 for the left side and 1 for the right. Every step first
    points to its neighbour. While the target passes, the step takes over the target's pointer, so that the distances
    grow with every round.
    """
    target = np.arange(levels.size) + step
    active = some
    while active.size:
        active = active[passes(levels[target[active]], levels[active])]
        target[active] = target[target[active]]
    return target
