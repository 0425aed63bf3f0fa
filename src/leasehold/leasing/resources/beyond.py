"""What is allocated beyond what a resource has since it changed in the cloud (feature J2).

Pure. A reservation that has begun keeps its place before one that has not, and an older allocation before a newer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.allocation import taken_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold.model.allocation import Allocation
    from leasehold.model.resource import Resource


def beyond(
    resource: Resource, held: Iterable[Allocation], asked: Mapping[str, Callable[[Resource], bool]], now: datetime
) -> list[Allocation]:
    """Return those of the allocations on a resource that it cannot carry, or that asked for something else.

    `asked` says by the id of a reservation whether a resource is what it asked for; one that is not named asked for
    nothing. What was vacated is never returned, but takes room until it is released.
    """
    carried: list[Allocation] = []
    found: list[Allocation] = []
    for each in sorted(held, key=lambda each: (each.left_at is None, each.window.start > now, each.id)):
        fits = asked.get(each.reservation_id)
        suits = (fits is None or fits(resource)) and _has_room(resource, each, carried)
        (carried if suits or each.left_at is not None else found).append(each)
    return found


def _has_room(resource: Resource, each: Allocation, carried: Sequence[Allocation]) -> bool:
    """Say whether the resource has room for one more allocation at every moment of its window."""
    if each.demand is None:
        return True
    if any(amount > resource.max_unit.get(name, amount) for name, amount in each.demand.items()):
        return False
    start, end = each.window.start, each.window.end
    beside = [other.window for other in carried if other.window.start < end and other.window.end > start]
    # What is taken grows only where an allocation begins.
    for moment in {max(start, window.start) for window in (each.window, *beside)}:
        there = [other for other in carried if other.window.start <= moment < other.window.end]
        for name, amount in taken_by([each, *there]).items():
            if name in each.demand and amount > resource.capacity.get(name, 0):
                return False
    return True
