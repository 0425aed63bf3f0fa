"""Healing: when a host fails, other hosts take over its promises (contract resources §7, features J3, J4).

No server is deleted because its host failed. A reservation that is active, or whose start was begun, leaves the host,
which goes to nobody else until its servers are gone: by their owner, or with the end of the lease.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from leasehold.db.allocation import Grant, end_allocations, insert_allocations, leases_on, leave_allocations
from leasehold.db.lease import find_lease, save_lease
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.resource import list_resources
from leasehold.db.store import GenerationRaceError, UnknownOutcomeError
from leasehold.db.task import LEASE, hurry_task
from leasehold.leasing.allocations import held_by, left_by
from leasehold.leasing.decide import promised_window
from leasehold.leasing.lifecycle import Phase, phase_of
from leasehold.model.allocation import Pick
from leasehold.model.errors import LeaseholdError
from leasehold.model.refusal import Refusal
from leasehold.model.resource import HOST, HOST_POOL, Health
from leasehold.model.states import EventType, LeaseStatus, ReservationStatus
from leasehold.resource_types.kind import Explain, Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.calendars import Evaluated
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Kind

log = logging.getLogger(__name__)

R = TypeVar("R")


class _PluginBugError(Exception):
    """A plugin raised what the contract does not allow; nothing was written for its reservation."""


HEALABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE, LeaseStatus.ERROR})
"""A start is tried again while the window lasts (decision 0026), so it moves; a lease that ends stays where it is."""
_ENDING = frozenset({Phase.END, Phase.REMOVE, Phase.RELEASE})


def heal_leases(service: Service) -> int:
    """Find other hosts for what is promised on failed ones within the healing interval; return how many leases changed.

    Each lease is its own transaction, and one that cannot be healed stops no others. What cannot be replaced is given
    up, and the reservation says so; a reservation whose plugin cannot be used, or breaks off, keeps what it has until
    that is mended.
    """
    now = service.now()
    interval = service.settings.manager.healing_interval
    with service.db.reading() as connection:
        broken = [host.number for host in list_resources(connection, HOST) if host.health is Health.FAILED]
        affected = leases_on(connection, broken, now, now + interval if interval else None) if broken else []
    healed = sum(_heal_lease(service, lease_id, frozenset(broken)) for lease_id in affected)
    if healed:
        service.wake()
    return healed


def _heal_lease(service: Service, lease_id: str, broken: frozenset[int]) -> bool:
    """Heal one lease and say whether it changed; a database that is away is no affair of this lease alone."""
    try:
        return service.decide(_Healing(service, lease_id, broken))
    except (SQLAlchemyError, UnknownOutcomeError, GenerationRaceError):
        raise
    except Exception:
        log.exception("Lease %s could not be healed; trying again at the next look", lease_id)
        return False


@dataclass(frozen=True, slots=True)
class _Healing:
    """The transaction for one lease, which may have to run more than once."""

    service: Service
    lease_id: str
    broken: frozenset[int]

    def __call__(self, evaluated: Evaluated, connection: Connection) -> bool:
        now = self.service.now()
        generations = lock_pools(connection, {HOST_POOL})
        lease = find_lease(connection, self.lease_id, lock=True)
        if lease is None or lease.status not in HEALABLE or phase_of(lease, now) in _ENDING:
            return False
        window = promised_window(lease.window.start, lease.window.end, now)
        healed: dict[str, dict[str, bool]] = {}
        with self.service.calendars.synced(connection, generations, now, evaluated) as snapshots:
            snapshot = snapshots[HOST_POOL]
            for part in self._healable(lease):
                lost = [each for each in held_by(part, lease) if each.resource_number in self.broken]
                if not lost:
                    continue
                generation = generations[HOST_POOL] + 1
                try:
                    healed[part.id], fresh = self._heal(connection, lease, part, lost, snapshot, generation, now)
                except _PluginBugError:
                    message = (
                        "A bug in %s: reservation %s of lease %s could not be healed; trying again at the next look"
                    )
                    log.exception(message, part.resource_type, part.id, lease.id)
                    continue
                snapshot = snapshot.booked(fresh, window)
        if not healed:
            return False
        self._save(connection, lease, healed, now)
        hurry_task(connection, LEASE, lease.id, now)
        bump_pools(connection, generations)
        return True

    def _healable(self, lease: Lease) -> list[Reservation]:
        """Return the reservations whose plugins can say what replaces a host."""
        return [part for part in lease.reservations if self.service.types.find(part.resource_type) is not None]

    def _save(self, connection: Connection, lease: Lease, healed: Mapping[str, dict[str, bool]], now: datetime) -> None:
        """Set the flags. The promises are read again so that the lease differs even where no flag does.

        A step that is under way then sees that it worked for promises of the past.
        """
        after = find_lease(connection, lease.id) or lease
        for ident, flags in healed.items():
            after = after.with_reservations({ident}, **flags)
        flagged = any(part.missing_resources or part.resources_changed for part in after.reservations)
        save_lease(connection, lease, replace(after, degraded=flagged), now)

    def _heal(
        self,
        connection: Connection,
        lease: Lease,
        part: Reservation,
        lost: Sequence[Allocation],
        snapshot: Snapshot,
        generation: int,
        now: datetime,
    ) -> tuple[dict[str, bool], Sequence[Pick]]:
        """Replace what the reservation lost; return its flags (contract lifecycle §7) and the new picks.

        `now` is the snapshot's: from a later moment on, hosts that wait for their release would look free.
        """
        window = promised_window(lease.window.start, lease.window.end, now)
        active = part.status is ReservationStatus.ACTIVE
        kept = [each for each in held_by(part, lease) if each.resource_number not in self.broken]
        # A host that was left before and works again still has servers, which the promises do not count.
        others = snapshot.without([part.id]).booked([Pick(each.resource_number) for each in left_by(part)], window)
        # A start that was begun may have brought hosts in already, and their owner servers.
        touched = active or lease.reached(EventType.START)
        picks = self._replace(part, others, window, kept, lost, firm=touched)
        if touched:
            leave_allocations(connection, [each.id for each in lost], generation, now)
        else:
            end_allocations(connection, [each.id for each in lost], generation, now, released=True)
        fresh = _added(kept, picks)
        grants = [Grant(HOST_POOL, generation, part.id, pick) for pick in fresh]
        insert_allocations(connection, part.lease_id, window, grants)
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
        kind = self.service.types.get(part.resource_type).kind
        request = _load(kind, part)
        margin = self.service.settings.leases.cleaning_time
        picks = tuple(each.pick for each in kept)
        nothing = Explain.NOTHING
        search = Search(snapshot, window, window.duration, picks, firm, request, margin, nothing)
        best: Sequence[Pick] = picks
        fits = sum(each.slots for each in kept)
        asked = most = fits + sum(each.slots for each in lost)
        # What fits, fits in smaller amounts too: first all of it, then the middle of what is left open.
        while fits < most:
            outcome = _allocate(kind, request, asked, search)
            if outcome is None:
                most = asked - 1
            else:
                best, fits = outcome, asked
            asked = (fits + most + 1) // 2
        return best


def _load(kind: Kind[R], part: Reservation) -> R:
    """Return the request of a reservation; raises _PluginBugError."""
    try:
        return kind.load(part.request)
    except Exception as error:
        raise _PluginBugError from error


def _allocate(kind: Kind[R], request: R, amount: int, search: Search[R]) -> Sequence[Pick] | None:
    """Return the picks for this amount, or None when there are none; raises _PluginBugError."""
    try:
        outcome = kind.allocate(kind.exactly(request, amount), search)
    except LeaseholdError:
        return None
    except Exception as error:
        raise _PluginBugError from error
    return None if isinstance(outcome, Refusal) else outcome


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
