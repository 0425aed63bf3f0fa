"""Which shared hosts to draw for a best-effort lease, and whether their servers fit elsewhere. Pure (feature A4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.model.placing.displacement import Affected, ServerFate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

MOVABLE = frozenset({"ACTIVE", "PAUSED", "MIGRATING", "DELETING"})
"""The statuses of servers that a live migration moves, or that leave by themselves."""
LEAVES = "DELETING"
DISK = "DISK_GB"


@dataclass(frozen=True, slots=True)
class Guest:
    """A server on a shared host: the cloud's word for its state, whether it stays when its host is drawn, and its size.

    Preemptible servers stay. `size` is in units of Placement's resource classes; None if the cloud does not say it.
    `created_at` is when it was requested.
    """

    id: str
    status: str
    stays: bool
    size: Mapping[str, int] | None
    created_at: datetime | None = None

    @property
    def affected(self) -> Affected:
        """The server as a strategy sees it: it moves, or a lease of its host will end it."""
        return Affected(
            self.id, ServerFate.ENDS if self.stays else ServerFate.MOVES, self.size or {}, self.status, self.created_at
        )

    @property
    def movable(self) -> bool:
        """Say whether its host can be drawn: it stays, or it can leave, as far as its state and size tell."""
        return self.stays or (self.status in MOVABLE and (self.size is not None or self.status == LEAVES))


@dataclass(frozen=True, slots=True)
class Drawable:
    """A shared host that could be drawn, with its servers; `number` is in the order of enrolment."""

    number: int
    label: str
    guests: tuple[Guest, ...] = ()

    @property
    def movers(self) -> tuple[Guest, ...]:
        """The servers that have to be moved."""
        return tuple(each for each in self.guests if each.status != LEAVES and not each.stays)

    @property
    def stayers(self) -> tuple[Guest, ...]:
        """The servers that stay, and that a lease of the host will end."""
        return tuple(each for each in self.guests if each.status != LEAVES and each.stays)

    @property
    def size(self) -> Mapping[str, int]:
        """The sum of the sizes of the servers that have to be moved."""
        total: Counter[str] = Counter()
        for guest in self.movers:
            total.update(guest.size or {})
        return total


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """The shared hosts to draw, by number, and those that were on their way when their servers' places were counted.

    All are of one resource type.
    """

    resource_type: str
    draws: frozenset[int]
    drawing: frozenset[int]


@dataclass(frozen=True, slots=True)
class Room:
    """What is free on a shared host that stays shared: amounts by resource class, and the most of one server."""

    free: Mapping[str, int]
    max_unit: Mapping[str, int] = field(default_factory=dict)

    def without(self, size: Mapping[str, int]) -> Room | None:
        """Return the room that is left when a server of this size has come; None if it does not fit.

        A host without any disk in Placement keeps its servers' disks elsewhere.
        """
        left = dict(self.free)
        for name, amount in size.items():
            if name == DISK and name not in left:
                continue
            if amount > left.get(name, 0) or amount > self.max_unit.get(name, amount):
                return None
            left[name] -= amount
        return Room(left, self.max_unit)


def first_enough(ranked: Sequence[int], enough: Callable[[frozenset[int]], bool]) -> frozenset[int] | None:
    """Return as few of the ranked numbers as are enough, early ones rather than late ones; None if all are too few.

    If whatever is enough stays so when more is added, none of the result can be left out. If besides what is enough
    is a matter of which number serves which demand, as with whole hosts, no other choice has a lower sum of any
    cost by which they are ranked.
    """
    if not enough(frozenset(ranked)):
        return None
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high) // 2
        if enough(frozenset(ranked[:middle])):
            high = middle
        else:
            low = middle + 1
    chosen = frozenset(ranked[:high])
    for number in reversed(ranked[:high]):
        less = chosen - {number}
        if enough(less):
            chosen = less
    return chosen


def first_without_place(guests: Iterable[Guest], rooms: Iterable[Callable[[], Room]]) -> Guest | None:
    """Return the first server, the largest first, for which none of the rooms has a place left; None if all have one.

    Each room is asked for once, and only when those before it are too small: it may cost a call to the cloud.
    """
    later = list(rooms)
    known: list[Room] = []
    for guest in sorted(guests, key=_largest_first):
        place = 0
        while True:
            if place == len(known):
                if place == len(later):
                    return guest
                known.append(later[place]())
            left = known[place].without(guest.size or {})
            if left is not None:
                known[place] = left
                break
            place += 1
    return None


def _largest_first(guest: Guest) -> tuple[int, int, int, str]:
    size = guest.size or {}
    return -size.get("MEMORY_MB", 0), -size.get("VCPU", 0), -size.get(DISK, 0), guest.id
