"""Healing: when a host fails, other hosts take over its allocations (contract resources §7, features J3, J4).

No server is deleted because its host failed. A reservation that is active, or whose start was begun, vacates the host.
The host is allocated to no other lease until its servers are gone: the owner deletes them, or the lease ends.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from leasehold.db.allocation import Grant, end_allocations, insert_allocations, leases_on, leave_allocations
from leasehold.db.lease import find_lease, save_lease
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.resource import failed_resources
from leasehold.db.store import GenerationRaceError, UnknownOutcomeError
from leasehold.db.task import LEASE, hurry_task
from leasehold.leasing.allocations import held_by, left_by
from leasehold.leasing.decide import promised_window
from leasehold.leasing.lifecycle import Phase, phase_of
from leasehold.model.allocation import Pick
from leasehold.model.errors import LeaseholdError
from leasehold.model.refusal import Refusal
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
    """A plugin raised an exception that its contract does not allow; nothing was written for its reservation."""


HEALABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE, LeaseStatus.ERROR})
"""STARTING and ERROR are included because a start is retried while the window lasts (decision 0026).

A lease that is ending keeps its hosts."""
_ENDING = frozenset({Phase.END, Phase.REMOVE, Phase.RELEASE})


def heal_leases(service: Service) -> int:
    """Replace the allocations on failed hosts within the healing interval; return how many leases changed.

    Each lease is its own transaction, and a failure for one does not stop the others. An allocation that cannot be
    replaced is given up, and the reservation is flagged `missing_resources`. A reservation whose plugin cannot be used
    or raises keeps its allocations until the plugin works again.
    """
    now = service.now()
    interval = service.settings.manager.healing_interval
    with service.db.reading() as connection:
        broken = failed_resources(connection)
        affected = leases_on(connection, broken, now, now + interval if interval else None) if broken else []
    healed = sum(_heal_lease(service, lease_id, broken) for lease_id in affected)
    if healed:
        service.wake()
    return healed


def _heal_lease(service: Service, lease_id: str, broken: Mapping[int, str]) -> bool:
    """Heal one lease and return whether it changed; database errors are raised, because they concern all leases."""
    try:
        return service.decide(_Healing(service, lease_id, broken))
    except (SQLAlchemyError, UnknownOutcomeError, GenerationRaceError):
        raise
    except Exception:
        log.exception("Lease %s could not be healed; the next health check tries again", lease_id)
        return False


@dataclass(frozen=True, slots=True)
class _Healing:
    """The transaction for one lease, which may have to run more than once."""

    service: Service
    lease_id: str
    broken: Mapping[int, str]
    """The pool of each failed resource, by number."""

    def __call__(self, evaluated: Evaluated, connection: Connection) -> bool:
        now = self.service.now()
        generations = lock_pools(connection, frozenset(self.broken.values()))
        lease = find_lease(connection, self.lease_id, lock=True)
        if lease is None or lease.status not in HEALABLE or phase_of(lease, now) in _ENDING:
            return False
        window = promised_window(lease.window.start, lease.window.end, now)
        healed: dict[str, dict[str, bool]] = {}
        with self.service.calendars.synced(connection, generations, now, evaluated) as snapshots:
            present = dict(snapshots)
            for part in self._healable(lease):
                lost = [each for each in held_by(part, lease) if each.resource_number in self.broken]
                if not lost:
                    continue
                pool = lost[0].pool
                generation = generations[pool] + 1
                try:
                    healed[part.id], fresh = self._heal(connection, lease, part, lost, present[pool], generation, now)
                except _PluginBugError:
                    message = (
                        "A bug in %s: reservation %s of lease %s could not be healed; the next health check tries again"
                    )
                    log.exception(message, part.resource_type, part.id, lease.id)
                    continue
                present[pool] = present[pool].booked(fresh, window)
        if not healed:
            return False
        self._save(connection, lease, healed, now)
        hurry_task(connection, LEASE, lease.id, now)
        bump_pools(connection, generations)
        return True

    def _healable(self, lease: Lease) -> list[Reservation]:
        """Return the reservations whose plugins can be used to choose replacements."""
        return [part for part in lease.reservations if self.service.types.find(part.resource_type) is not None]

    def _save(self, connection: Connection, lease: Lease, healed: Mapping[str, dict[str, bool]], now: datetime) -> None:
        """Set the flags. The allocations are read again, so that the lease is saved even if no flag changes.

        A step in progress then sees a new generation, and knows that it worked with outdated allocations.
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
        """Replace the lost allocations; return the reservation's flags (contract lifecycle §7) and the new picks.

        `now` is the snapshot's: at a later time, hosts that wait for their release would look free.
        """
        window = promised_window(lease.window.start, lease.window.end, now)
        active = part.status is ReservationStatus.ACTIVE
        kept = [each for each in held_by(part, lease) if each.resource_number not in self.broken]
        # A host that was vacated before and works again may still have servers, which no allocation counts.
        others = snapshot.without([part.id]).booked([Pick(each.resource_number) for each in left_by(part)], window)
        # A start that was begun may already have moved hosts, and the owner may have booted servers on them.
        touched = active or lease.reached(EventType.START)
        picks = self._replace(part, others, window, kept, lost, firm=touched)
        if touched:
            leave_allocations(connection, [each.id for each in lost], generation, now)
        else:
            end_allocations(connection, [each.id for each in lost], generation, now, released=True)
        fresh = _added(kept, picks)
        grants = [Grant(lost[0].pool, generation, part.id, pick) for pick in fresh]
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
        """Return the kept picks plus replacements for as much of the lost amount as other hosts can take."""
        kind = self.service.types.get(part.resource_type).kind
        request = _load(kind, part)
        margin = self.service.settings.leases.cleaning_time
        picks = tuple(each.pick for each in kept)
        nothing = Explain.NOTHING
        search = Search(snapshot, window, window.duration, picks, firm, request, margin, nothing)
        best: Sequence[Pick] = picks
        fits = sum(each.slots for each in kept)
        asked = most = fits + sum(each.slots for each in lost)
        # If an amount fits, every smaller one does: try the whole amount first, then bisect.
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
    """Return the picks less the kept allocations, host by host."""
    have: dict[int, int] = {}
    for each in kept:
        have[each.resource_number] = have.get(each.resource_number, 0) + each.slots
    added = []
    for pick in picks:
        more = pick.slots - have.pop(pick.resource_number, 0)
        if more > 0:
            added.append(type(pick)(pick.resource_number, more, pick.demand))
    return added
