"""The timeline as it was known at a moment, for operators (issue 14, decision 0095).

What was held until then is in segments and allocations, which never change what is past. What a running lease was to
have from then on follows from its dates at that moment. Which resources a lease had that had not begun is recorded
nowhere, because late binding changes it unseen: these are told without rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from leasehold.db.leases.lease import find_leases
from leasehold.db.past.lease_then import changes_at
from leasehold.features.timeline import store as stored
from leasehold.features.timeline.bars import Piece, was_healed
from leasehold.features.timeline.model import BarKind, ShownLease, Unplaced
from leasehold.model.errors import InvalidInputError
from leasehold.model.segment import Cause
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from leasehold.model.lease import Lease
    from leasehold.resource_types.registry import ResourceTypes

MOST_CHANGED: Final = 5_000
"""Leases that may have changed since the moment: the state of each has to be read."""
_UNBEGUN: Final = frozenset({LeaseStatus.CREATING, LeaseStatus.PENDING, LeaseStatus.UPDATING})


@dataclass(slots=True)
class Past:
    """Leases and pieces as of a moment; `known` are the leases by id, `until` when each was to give back what it has.

    `then` has those that have changed since, as they were, and `unchanged` the ids of the others.
    """

    connection: Connection
    moment: datetime
    known: dict[str, ShownLease] = field(default_factory=dict)
    then: dict[str, Lease] = field(default_factory=dict)
    unchanged: set[str] = field(default_factory=set)

    def look(self, wanted: stored.Range, holding: Collection[str]) -> None:
        """Read the leases of the time, and those that are holding something in it.

        Raises InvalidInputError if too many have changed since.
        """
        rows = {row.id: row for row in stored.read_leases_then(self.connection, wanted, self.moment)}
        rows |= {row.id: row for row in stored.leases_of(self.connection, set(holding) - rows.keys())}
        changed = {ident for ident, row in rows.items() if _later(row, self.moment)}
        for ident in rows.keys() - changed:
            row = rows[ident]
            self.unchanged.add(ident)
            self.known[ident] = ShownLease.of(row, row.start_at, row.end_at)
        if len(changed) > MOST_CHANGED:
            message = f"More than {MOST_CHANGED} leases have changed since as_of. Ask for a later moment."
            raise InvalidInputError(message, field="as_of")
        for ident, change in changes_at(self.connection, changed, self.moment).items():
            lease = change.lease
            if lease.status is not LeaseStatus.OFFERED:
                self.then[ident] = lease
                self.known[ident] = ShownLease.of(lease, lease.window.start, lease.window.end)

    def pieces(
        self, booked: Iterable[Row[*tuple[Any, ...]]], recorded: Iterable[Row[*tuple[Any, ...]]]
    ) -> Iterator[Piece]:
        """Yield what was held up to the moment, what was not released then, and what was to be held after it."""
        now = to_seconds(self.moment)
        for number, lease_id, slots, demand, start, end, cause, *_ in recorded:
            of = (slots, demand, cause == Cause.HEALED)
            if start <= now:
                yield Piece(number, lease_id, start, self._end(lease_id, end, now), BarKind.LEASE, *of)
        for number, lease_id, slots, demand, start, end, since, left, released, substitute, cause, _ in booked:
            if start > now:
                continue
            of = (slots, demand, was_healed(left, cause, substitute=substitute))
            begin = start if since is None else max(start, since)
            gone = end if left is None else min(end, to_seconds(left))
            if begin < gone and begin <= now:
                yield Piece(number, lease_id, begin, self._end(lease_id, gone, now), BarKind.LEASE, *of)
            freed = to_seconds(released) if released is not None and released <= self.moment else None
            if left is not None and left <= self.moment:
                after, kind = max(start, to_seconds(left)), BarKind.VACATED
                freed = self._kept(lease_id, end, now) if freed is None else freed
            elif end <= now:
                after, kind = end, BarKind.EMPTYING
            else:
                continue
            if freed is None or after < freed:
                yield Piece(number, lease_id, after, freed, kind, *of)

    def _kept(self, lease_id: str, end: int, now: int) -> int | None:
        """Return until when a vacated resource was to be kept from others; None: until it is released."""
        until = to_seconds(self.then[lease_id].held_window.end) if lease_id in self.then else end
        return until if until > now else None

    def _end(self, lease_id: str, end: int, now: int) -> int:
        """Return until when something was held, or was to be held as seen at the moment."""
        if end <= now or lease_id not in self.then:
            return end
        return max(now, to_seconds(self.then[lease_id].held_window.end))

    def unplaced(self, types: ResourceTypes, begun: Iterable[str], window: tuple[int, int]) -> Sequence[Unplaced]:
        """Return what leases were to have in the window that had not begun to have it."""
        waiting = {
            ident: lease
            for ident, lease in self.known.items()
            if lease.status in _UNBEGUN and not lease.deleted and ident not in begun and _meets(lease, window)
        }
        found = [
            Unplaced(ident, part.resource_type, types.amount(part))
            for ident in waiting
            if ident in self.then
            for part in self.then[ident].kept
        ]
        present = find_leases(self.connection, waiting.keys() & self.unchanged)
        found += [
            Unplaced(lease.id, part.resource_type, types.amount(part)) for lease in present for part in lease.kept
        ]
        return sorted(found)


def _later(row: Row[*tuple[Any, ...]], moment: datetime) -> bool:
    """Say whether a lease has changed after a moment."""
    return any(each is not None and each > moment for each in (row.updated_at, row.deleted_at))


def _meets(lease: ShownLease, window: tuple[int, int]) -> bool:
    start, end = window
    return (lease.start or 0) < end and (lease.end is None or lease.end > start)
