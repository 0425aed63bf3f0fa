"""Gaps: the stretches of time in which resources have room, as long as they can be.

A gap of a resource row is a stretch in which at least one more slot stays free than just outside it. It has a width, in
slots: from the higher of the two levels beside it to the lowest level within. The number of slots that a row can give
for a whole window is the summed width of the gaps that the window lies in.
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
"""Where gaps begin and end, and their widths."""


def whole_gaps(held: Held, window: tuple[int, int], shortest: int) -> Gaps:
    """Return the gaps in which the resource rows of `held` have nothing on them: each is one wide.

    Gaps shorter than `shortest` seconds are left out, here and below.
    """
    _, begins, ends = _idle(held, window, shortest)
    return begins, ends, np.ones(begins.size, np.int64)


def slot_gaps(
    held: Held, window: tuple[int, int], shortest: int, limits: Sequence[Limit], count: Callable[[Counts], Counts]
) -> Gaps:
    """Return the gaps of what `count` makes of the slots that the limits leave on the resource rows of `held`."""
    held = _without_hopeless(held, window, shortest)
    if not len(held):
        return held.starts, held.ends, held.slots
    rows, moments, used = steps(held, window, [limit.taken(held) for limit in limits])
    room = np.minimum.reduce([limit.fitting(rows, taken) for limit, taken in zip(limits, used, strict=True)])
    # A step at the end of the window has no length; as a wall it keeps the gaps of neighbouring rows apart.
    levels = np.where(moments < window[1], count(room), -1)
    changes = np.empty(levels.size, np.bool_)
    changes[:1] = True
    np.not_equal(levels[1:], levels[:-1], out=changes[1:])
    begins, ends, widths = _between_lower(np.append(-1, levels[changes]), np.append(window[0], moments[changes]))
    long = ends - begins >= shortest
    return begins[long], ends[long], widths[long]


def _without_hopeless(held: Held, window: tuple[int, int], shortest: int) -> Held:
    """Leave out the resource rows that exclusive promises never leave for long enough: it is quick to see."""
    exclusive = held.demands == EXCLUSIVE
    if not exclusive.any():
        return held
    whole = held.part(exclusive)
    hopeful = np.ones(int(held.rows[-1]) + 1, np.bool_)
    hopeful[whole.rows] = False
    hopeful[_idle(whole, window, shortest)[0]] = True
    return held.part(hopeful[held.rows])


def _idle(held: Held, window: tuple[int, int], shortest: int) -> tuple[Rows, Seconds, Seconds]:
    """Return the stretches in which the resource rows of `held` have nothing on them: rows, begins and ends."""
    start, end = window
    firsts = held.group_starts()
    begins, ends = held.within(window)
    # The moment until which anything so far holds the row. The groups are shifted apart to run over all at once.
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
    """Return the gaps of a step function with walls (-1) at both ends, and wherever another row begins."""
    some = np.flatnonzero(levels > 0)
    left = _nearest(levels, some, -1, np.greater)
    right = _nearest(levels, some, 1, np.greater_equal)
    # Of steps at one level with nothing lower between them, the first speaks for all.
    some = some[levels[left[some]] < levels[some]]
    left, right = left[some], right[some]
    widths = levels[some] - np.maximum(np.maximum(levels[left], levels[right]), 0)
    return moments[left + 1], moments[right], widths


def _nearest(levels: Counts, some: Rows, step: int, passes: Callable[[Counts, Counts], Mask]) -> Rows:
    """Return for each of `some` the nearest step on one side that is not `passes(levels there, its own level)`.

    Every step points to its neighbour first; a step that may pass its target takes over the target's pointer, so that
    the distances grow with every round.
    """
    target = np.arange(levels.size) + step
    active = some
    while active.size:
        active = active[passes(levels[target[active]], levels[active])]
        target[active] = target[target[active]]
    return target
