"""Which of a reservation's promises still count, and how they move when the lease is amended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.db.allocation import Grant, end_allocations, insert_allocations, move_allocations
from leasehold.leasing.decide import promised_window
from leasehold.model.errors import InUseError
from leasehold.model.states import EventType
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Allocation, Pick
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.registry import ResourceTypes


def lasts(held: Allocation, lease: Lease) -> bool:
    """Say whether a promise lasts to the end of its lease.

    One that was ended before, as by an amendment, may still wait for its release; it is never prolonged with the
    lease. One whose host failed and was left is no longer used. Promises are kept in whole seconds.
    """
    if held.released_at is not None or held.left_at is not None:
        return False
    return held.window.end > held.window.start and to_seconds(held.window.end) >= to_seconds(lease.window.end)


def pool_of(part: Reservation, types: ResourceTypes) -> str | None:
    """Return the pool that a reservation takes from: what it has, or had, says so without its plugin.

    None for one that has never had anything, and whose plugin cannot be used: it can get nothing.
    """
    if part.allocations:
        return part.allocations[0].pool
    found = types.find(part.resource_type)
    return None if found is None else found.kind.pool


def pools_of(lease: Lease, types: ResourceTypes) -> set[str]:
    """Return the pools that the reservations of a lease book from."""
    found = (pool_of(part, types) for part in lease.reservations)
    return {pool for pool in found if pool is not None}


def held_by(part: Reservation, lease: Lease) -> list[Allocation]:
    """Return the promises of a reservation that last to the end of its lease."""
    return [held for held in part.allocations if lasts(held, lease)]


def leaving(part: Reservation, lease: Lease) -> list[Allocation]:
    """Return the promises that ended before their lease did, and whose resources are not given back yet."""
    over = [held for held in part.allocations if held.released_at is None and not lasts(held, lease)]
    return [held for held in over if held.left_at is None]


def left_by(part: Reservation) -> list[Allocation]:
    """Return the promises on hosts that failed and were left, and that may still carry the reservation's servers."""
    return [held for held in part.allocations if held.released_at is None and held.left_at is not None]


def whole_left_by(part: Reservation) -> list[Allocation]:
    """Return those of `left_by` that are whole hosts: the reservation may take them back with what runs there."""
    return [held for held in left_by(part) if held.demand is None]


def check_left(left: Sequence[Allocation], picks: Sequence[Pick], others: Snapshot, window: Window) -> None:
    """Raise InUseError where servers are left on a failed host that others are promised in the window.

    `others` are the promises of other leases. Hosts among the picks have been looked at.
    """
    used = {pick.resource_number for pick in picks}
    for held in left:
        if held.resource_number in used:
            continue
        (row,) = others.rows([held.resource_number])
        fits = others.free(window)[row] if held.demand is None else others.slots(window, held.demand)[row] >= held.slots
        if not fits:
            message = (
                "Servers of the lease may be left on a host that failed and that is promised to others in the new "
                "window. Delete those servers and ask again a few minutes later, or ask for an earlier end."
            )
            raise InUseError(message, field="end_date")


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One reservation whose promises move to another window, at a generation of its pool."""

    lease: Lease
    part: Reservation
    window: Window
    generation: int
    now: datetime

    @property
    def ahead(self) -> Window:
        """The part of the new window that still lies ahead."""
        return promised_window(self.window.start, self.window.end, self.now)

    def moved(self, held: Allocation) -> Window:
        """Return the new window of a promise that stays: it begins and ends elsewhere only where the lease does.

        What has begun, with the lease or later, goes on from there. What is over stays so, even where nobody has seen
        to it yet: what came after may be somebody else's.
        """
        before = self.lease.window
        begin = held.window.start if self.window.start == before.start else self.ahead.start
        end = held.window.end if self.window.end == before.end else self.ahead.end
        return Window(begin, max(begin, end))


def rewrite(connection: Connection, to: Rewriting, picks: Sequence[Pick], pool: str) -> None:
    """Move the promises that stay, end those that go, write those that are new."""
    wanted = Counter(_key(pick) for pick in picks)
    stays: dict[Window, list[int]] = {}
    goes: list[Allocation] = []
    for held in held_by(to.part, to.lease):
        if wanted[_key(held.pick)] > 0:
            wanted[_key(held.pick)] -= 1
            stays.setdefault(to.moved(held), []).append(held.id)
        else:
            goes.append(held)
    used = {pick.resource_number for pick in picks}
    for held in left_by(to.part):
        if held.resource_number not in used:
            stays.setdefault(to.moved(held), []).append(held.id)
    # A host that failed and works again may be the reservation's own once more.
    again = [held.id for held in left_by(to.part) if held.resource_number in used]
    if again:
        end_allocations(connection, again, to.generation, to.now, released=True)
    for window, ids in stays.items():
        move_allocations(connection, ids, to.generation, window)
    _end(connection, to, goes, used)
    fresh = []
    for pick in picks:
        if wanted[_key(pick)] > 0:
            wanted[_key(pick)] -= 1
            fresh.append(Grant(pool, to.generation, to.part.id, pick))
    insert_allocations(connection, to.lease.id, to.ahead, fresh)


def _end(connection: Connection, to: Rewriting, goes: Sequence[Allocation], stays: Collection[int]) -> None:
    """End promises that go.

    Nobody has to wait for a resource that was never touched, or that the reservation goes on holding with other slots.
    One that a start may have touched is released when the cloud has let go of it.
    """
    touched = to.lease.reached(EventType.START)
    for released in (True, False):
        ids = [held.id for held in goes if released == (not touched or held.resource_number in stays)]
        if ids:
            end_allocations(connection, ids, to.generation, to.now, released=released)


def _key(pick: Pick) -> tuple[int, int, frozenset[tuple[str, int]] | None]:
    return pick.resource_number, pick.slots, None if pick.demand is None else frozenset(pick.demand.items())
