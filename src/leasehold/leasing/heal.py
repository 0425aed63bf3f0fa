"""Healing: when a host fails, other hosts take over its promises (contract resources §7, features J3, J4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.books.allocation import end_allocations, insert_allocations, leases_on
from leasehold.books.lease import find_lease, save_lease
from leasehold.books.pool import bump_pools, lock_pools
from leasehold.books.resource import list_resources, update_resources
from leasehold.books.task import LEASE, hurry_task
from leasehold.leasing.decide import promised_window
from leasehold.model.refusal import Refusal
from leasehold.model.resource import HOST, HOST_POOL
from leasehold.model.states import LeaseStatus, ReservationStatus
from leasehold.resource_types.base import Search

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation, Pick
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window

HEALABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.ACTIVE})
"""A lease that is starting or ending is looked at again once that is done."""


def mark_hosts(service: Service, failed: Collection[str], recovered: Collection[str]) -> None:
    """Write down by id which hosts broke and which work again; recovery only makes a host bookable again."""

    def work(connection: Connection) -> None:
        generations = lock_pools(connection, {HOST_POOL})
        hosts = {host.id: host for host in list_resources(connection, HOST)}
        for ids, reservable in ((failed, False), (recovered, True)):
            numbers = [
                hosts[ident].number for ident in ids if ident in hosts and hosts[ident].reservable is not reservable
            ]
            if numbers:
                update_resources(
                    connection, numbers, generations[HOST_POOL] + 1, reservable=reservable, updated_at=service.now()
                )
        bump_pools(connection, generations)

    service.books.transact(work)


def heal_leases(service: Service) -> int:
    """Find other hosts for what is promised on broken ones within the healing interval; return how many leases changed.

    Each lease is its own transaction. What cannot be replaced is given up, and the reservation says so.
    """
    now = service.now()
    interval = service.settings.manager.healing_interval
    with service.books.reading() as connection:
        broken = [host.number for host in list_resources(connection, HOST) if not host.reservable]
        affected = leases_on(connection, broken, now, now + interval if interval else None) if broken else []
    healed = sum(service.books.transact(_Healing(service, lease_id, frozenset(broken))) for lease_id in affected)
    if healed:
        service.wake()
    return healed


@dataclass(frozen=True, slots=True)
class _Healing:
    """The transaction for one lease, which may have to run more than once."""

    service: Service
    lease_id: str
    broken: frozenset[int]

    def __call__(self, connection: Connection) -> bool:
        now = self.service.now()
        generations = lock_pools(connection, {HOST_POOL})
        lease = find_lease(connection, self.lease_id, lock=True)
        if lease is None or lease.status not in HEALABLE:
            return False
        window = promised_window(lease.window.start, lease.window.end, now)
        after = lease
        with self.service.calendars.synced(connection, generations, now) as snapshots:
            snapshot = snapshots[HOST_POOL]
            for part in lease.reservations:
                flags, fresh = self._heal(connection, part, snapshot, window, generations[HOST_POOL] + 1)
                after = replace(after.with_reservations({part.id}, **flags), degraded=after.degraded or bool(flags))
                snapshot = snapshot.booked(fresh, window)
        if after == lease:
            return False
        save_lease(connection, lease, after, now)
        hurry_task(connection, LEASE, lease.id, now)
        bump_pools(connection, generations)
        return True

    def _heal(
        self, connection: Connection, part: Reservation, snapshot: Snapshot, window: Window, generation: int
    ) -> tuple[dict[str, bool], Sequence[Pick]]:
        """Replace what the reservation lost; return the flags to set (contract lifecycle §7) and the new picks."""
        held = [each for each in part.allocations if each.released_at is None and each.window.end > window.start]
        lost = [each for each in held if each.resource_number in self.broken]
        if not lost or part.status is ReservationStatus.DELETED:
            return {}, ()
        now = self.service.now()
        active = part.status is ReservationStatus.ACTIVE
        kept = [each for each in held if each.resource_number not in self.broken]
        picks = self._replace(part, snapshot.without([part.id]), window, kept, lost, firm=active)
        end_allocations(connection, [each.id for each in lost], generation, now, released=not active)
        fresh = _added(kept, picks)
        insert_allocations(
            connection, HOST_POOL, generation, part.lease_id, window, [(part.id, pick) for pick in fresh]
        )
        missing = sum(pick.slots for pick in fresh) < sum(each.slots for each in lost)
        changed = active and bool(fresh)
        return {
            "missing_resources": part.missing_resources or missing,
            "resources_changed": part.resources_changed or changed,
        }, fresh

    def _replace(
        self,
        part: Reservation,
        snapshot: Snapshot,
        window: Window,
        kept: Sequence[Allocation],
        lost: Sequence[Allocation],
        *,
        firm: bool,
    ) -> Sequence[Pick]:
        """Return the picks with as much of the lost amount as can be had elsewhere, down to what is left."""
        kind = self.service.types.get(part.resource_type)
        have = sum(each.slots for each in kept)
        margin = self.service.settings.leases.cleaning_time
        search = Search(
            snapshot, window, window.duration, tuple(each.pick for each in kept), firm, dict(part.request), margin
        )
        for amount in range(have + sum(each.slots for each in lost), have, -1):
            outcome = kind.allocate(kind.exactly(dict(part.request), amount), search)
            if not isinstance(outcome, Refusal):
                return outcome
        return [each.pick for each in kept]


def _added(kept: Sequence[Allocation], picks: Sequence[Pick]) -> list[Pick]:
    """Return what the picks take beyond what is kept, host by host."""
    have: dict[int, int] = {}
    for each in kept:
        have[each.resource_number] = have.get(each.resource_number, 0) + each.slots
    added = []
    for pick in picks:
        more = pick.slots - have.pop(pick.resource_number, 0)
        if more > 0:
            added.append(type(pick)(pick.resource_number, more, pick.demand))
    return added
