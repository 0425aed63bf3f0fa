"""All ways to make room for a lease: others get other resources, or change as a feature knows how (decision 0144)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.leasing.room.rebinding import Rebinding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.rebinding_search import RoomMade
    from leasehold.leasing.deciding.way import Way
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service


@dataclass(frozen=True, slots=True)
class Ways:
    """Ways that are tried one after the other."""

    each: Sequence[Way]

    def room(
        self, snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, pool: str
    ) -> RoomMade | None:
        """Return the first room that is found."""
        found = (way.room(snapshots, asked, terms, pool) for way in self.each)
        return next((room for room in found if room is not None), None)


def ways_of(service: Service, locks: Locks, stay: frozenset[str] = frozenset()) -> Ways:
    """Return the ways of a decision; that of which no owner notices anything comes first. Leases in `stay` stay."""
    return Ways((Rebinding(service, locks, stay), *(make(service, locks, stay) for make in service.ways)))
