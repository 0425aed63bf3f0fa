"""Allocations: which resource a reservation has, when, and how much of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from leasehold.model.windows import Window


class Slots(Protocol):
    """Whatever takes `slots` times `demand` of a resource."""

    @property
    def slots(self) -> int: ...

    @property
    def demand(self) -> Mapping[str, int] | None: ...


@dataclass(frozen=True, slots=True)
class Pick:
    """A wanted allocation: `slots` times `demand` of one resource.

    `demand` maps resource classes to the amount of one slot; None means the whole resource, exclusively.
    """

    resource_number: int
    slots: int = 1
    demand: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation in the database: resource x reservation x window x amount.

    `released_at` is set when the resource is truly free again, which may be later than `window.end` while servers
    are being removed; the next start on the resource waits for it (design §5). `left_at` is set when the reservation
    vacated the resource: it failed, or its owner gave it up, by a swap, by asking for less or by lending it
    (`given_up`; `lent` for the last). Until it is released, the allocation keeps other leases away, because
    servers may remain there. `substitute` says that healing chose it while the reservation was active.
    What it held before `recorded_until` is in segments (`model/segment.py`); None: nothing is.
    """

    id: int
    reservation_id: str
    lease_id: str
    pool: str
    resource_number: int
    window: Window
    slots: int
    demand: Mapping[str, int] | None
    released_at: datetime | None = None
    left_at: datetime | None = None
    substitute: bool = False
    recorded_until: datetime | None = None
    given_up: bool = False
    lent: bool = False

    @property
    def pick(self) -> Pick:
        """What this allocation takes, without its window and owner."""
        return Pick(self.resource_number, self.slots, self.demand)


def slots_of(held: Iterable[Slots]) -> int:
    """Return how many slots these are together; a whole resource is one."""
    return sum(each.slots for each in held)


def taken_by(allocations: Iterable[Slots]) -> Counter[str]:
    """Return what allocations of slots take together, by resource class; whole resources count nothing."""
    taken: Counter[str] = Counter()
    for each in allocations:
        taken.update({name: amount * each.slots for name, amount in (each.demand or {}).items()})
    return taken
