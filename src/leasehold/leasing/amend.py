"""Amend a lease: the same transaction as for a new one, but the lease's own allocations count as free (design §4).

The lease keeps the resources it holds if possible. All reservations change or none; a refusal changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.enforcement.external import ExternalCall
from leasehold.leasing.amended import Amendment, PartChange
from leasehold.leasing.batch import Joining
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.dates import check_open_end, new_window
from leasehold.leasing.deciding.allocations import held_by, pools_of
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.deciding.default_properties import condition_in, names_properties
from leasehold.leasing.deciding.flags import with_flags
from leasehold.leasing.deciding.source import POOLS
from leasehold.leasing.delays import telling_delays
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.locks import ChangedMeanwhileError, look_again
from leasehold.leasing.once import done_by
from leasehold.leasing.reading.queries import get_lease
from leasehold.leasing.requests import Read, conditions_of, ending_of, no_show_of, place_of, read_requests
from leasehold.leasing.room.reallocation import Reallocated, Reallocation
from leasehold.leasing.sharing import check_sharing
from leasehold.leasing.steps import vacating
from leasehold.leasing.steps.vacating import Vacated
from leasehold.leasing.sub_lease import check_not_lending
from leasehold.leasing.unit import Joins, Order
from leasehold.metrics.decision import decision
from leasehold.model.caller import EVERYTHING, Caller
from leasehold.model.errors import (
    BusyError,
    ConflictError,
    InvalidInputError,
    MissingParameterError,
    NotFoundError,
    StaleError,
    WaitingLeaseError,
)
from leasehold.model.event_log import LeaseNews
from leasehold.model.reminder import rearmed
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.terms.no_show import NEVER
from leasehold.model.transitions import Trigger, can, move
from leasehold.model.tries import as_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Along, Unit
    from leasehold.model.caller import Sight
    from leasehold.model.draft import LeaseChanges, Once
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression
    from leasehold.model.reservation import Reservation

DROPPABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.ACTIVE})
"""Statuses in which a lease may lose a reservation: no step works with what it has."""


def amend_lease(
    service: Service,
    lease_id: str,
    changes: LeaseChanges,
    if_generation: int | None = None,
    sight: Sight = EVERYTHING,
    once: Once | None = None,
    along: Along | None = None,
    seen: Lease | None = None,
) -> Lease:
    """Change a lease and return the changed lease (rules: contract http-api §5.4).

    `sight` says what the caller may ask about hosts; `seen` is the lease if it was read before. A request that was
    carried out `once` changes nothing again, and returns the lease as it is; with another request of the same key
    ConflictError is raised.

    Raises NotFoundError; StaleError when the lease's generation is not `if_generation`; BusyError while it is starting
    or ending, or when it changed during each of five tries; InvalidInputError for a change that is not allowed;
    LendingError for a lease that lends; those of its source, and of `check_sharing`;
    WaitingLeaseError for the reservations of a lease that waits; ConflictError for dropping all that it has;
    NotEnoughError or InUseError when it does not fit; the errors of `vacating.named` and of `carry_out`.
    """

    def attempt(seen: Lease) -> Lease:
        if done := done_by(service, once):
            return done
        _check_changeable(seen, if_generation)
        if changes.nothing:
            return seen
        source = service.source_of(seen)
        source.check_changes(seen, changes)
        if changes.open_ended and not seen.open_ended:
            check_open_end(service.settings.leases.open_ended, seen.type)
        if seen.waits and changes.changes_parts:
            raise WaitingLeaseError
        _check_drops(seen, changes)
        vacated = None if changes.vacates is None else vacating.named(service, seen, *changes.vacates)
        if vacated is None and changes.vacates is not None:
            return seen
        amendment = _read(service, seen, changes, sight) if vacated is None else _without(changes, sight, vacated)
        if changes.drops or changes.vacates or any(map(amendment.asks_more, seen.kept)):
            source.check_exchange(seen)
        # The window of a maintenance is the operator's own, and nobody approved it when it was made.
        asks = None if seen.is_maintenance else (ExternalCall.UPDATE, seen.project_id)
        conditions = _conditions(service, seen, amendment)
        # A lease that waits is tried by itself, and one whose resources come from elsewhere asks more than its pools.
        pools = frozenset(() if seen.waits or changes.moves_nothing else pools_of(seen, service.types))
        joins = Joins(seen.project_id, pools, seen) if pools and source is POOLS and not seen.has_lent else None
        order = Order(conditions, asks, once, dry_run=changes.dry_run, along=along, joins=joins)
        return carry_out(service, order, Amending(seen, amendment, pools))

    name = "amend, dry run" if changes.dry_run else "amend"
    with decision(name), telling_delays(service, dry_run=changes.dry_run):
        return look_again(lease_id, partial(get_lease, service, lease_id), attempt, seen)


def try_amendment(
    service: Service, lease_id: str, changes: LeaseChanges, if_generation: int | None = None, sight: Sight = EVERYTHING
) -> Lease:
    """Return the lease as `amend_lease` would change it, with its allocations, and leave no trace; raises the same."""
    return amend_lease(service, lease_id, replace(changes, dry_run=True), if_generation, sight)


def _check_changeable(lease: Lease, if_generation: int | None) -> None:
    if not can(lease.status, Trigger.AMENDED):
        message = f"The lease is {lease.status}; change it when that is done."
        raise BusyError(message)
    if if_generation not in (None, lease.generation):
        raise StaleError


def _check_drops(lease: Lease, changes: LeaseChanges) -> None:
    """Raise an error if the lease cannot lose these reservations, or a resource, now."""
    kept, drops = {part.id for part in lease.kept}, changes.drops
    for ident in sorted(set(drops) - kept):
        raise NotFoundError("reservation_id", ident)
    if (drops or changes.vacates) and lease.status not in DROPPABLE:
        what = "reservation" if drops else "resource"
        message = f"The lease is {lease.status}; a {what} of it is dropped while it is pending or active."
        raise BusyError(message)
    if drops and kept == set(drops):
        message = "A lease keeps one reservation at least; delete the lease instead of dropping the last one."
        raise ConflictError(message, field="reservation_id")


def _read(service: Service, lease: Lease, changes: LeaseChanges, sight: Sight) -> Amendment:
    """Return the amendment with its parsed requests; this may call the cloud, so it runs before any lock is taken."""
    by_id = {reservation.id: reservation for reservation in lease.kept}
    changed = changes.reservations or ()
    vacated: dict[str, Vacated] = {}

    def understand(raw: Mapping[str, Any]) -> Read:
        reservation = _named(by_id, raw)
        if reservation.id in vacated:
            message = "The request names this reservation twice, and one of the changes would be lost; name each once."
            raise InvalidInputError(message, field="id")
        found = service.types.get(reservation.resource_type)
        kind = found.kind
        ending = ending_of(service, found, raw, reservation.ending)
        no_show = no_show_of(service, found, raw, NEVER if reservation.no_show is None else reservation.no_show.after)
        before, asked = kind.load(reservation.request), kind.asked(raw)
        # What a no-show has left of a request may be nothing, which nobody may ask for.
        nothing = not asked and reservation.no_show is not None and not kind.amount(before)
        smaller = (
            vacating.surplus(service, lease, reservation, found, asked) if changes.shrinks else Vacated(reservation)
        )
        vacated[reservation.id] = smaller
        request = before if nothing else kind.amend(smaller.part, asked)
        kind.check_ending(request, ending)
        return Read(found, request, before, ending, no_show)

    reading = read_requests(service, Caller(lease.user_id, lease.project_id), sight, changed, understand, lease=lease)
    parts = {}
    for position, (read, (ident, smaller)) in enumerate(zip(reading.parts, vacated.items(), strict=True)):
        change = PartChange(read.stored, read.ending, smaller.part.request, smaller.allocations, read.no_show)
        names = names_properties(read.type.kind, read.request)
        parts[ident] = replace(change, place=place_of(position), names_properties=names)
    return Amendment(changes, parts, reading.hidden, tells_disabled=sight.disabled)


def _without(changes: LeaseChanges, sight: Sight, vacated: Vacated) -> Amendment:
    """Return the amendment by which a reservation loses a resource, and everything else stays."""
    part = vacated.part
    change = PartChange(part.request, part.ending, part.request, vacated.allocations)
    return Amendment(changes, {part.id: change}, tells_disabled=sight.disabled)


def _conditions(service: Service, lease: Lease, amendment: Amendment) -> Sequence[tuple[str, Expression]]:
    """Return the conditions of a decision about the whole lease, without reservations whose plugin is missing."""
    if amendment.changes.moves_nothing:
        return ()
    found = [(service.types.find(part.resource_type), part) for part in lease.kept]
    usable = [(each.kind, part) for each, part in found if each is not None]
    conditions = conditions_of((kind, kind.load(amendment.of(part).request)) for kind, part in usable)
    defaults = [(kind.pool, amendment.default(part)) for kind, part in usable]
    return conditions + [(pool, condition_in(default)) for pool, default in defaults if default is not None]


def _named(by_id: Mapping[str, Reservation], raw: Mapping[str, Any]) -> Reservation:
    if "id" not in raw:
        message = "reservation ID"
        raise MissingParameterError(message)
    reservation = by_id.get(raw["id"]) if isinstance(raw["id"], str) else None
    if reservation is None:
        message = (
            f"The lease has no reservation {str(raw['id'])[:80]!r}; its reservations are {', '.join(by_id) or 'none'}."
        )
        raise InvalidInputError(message, field="id")
    if raw.get("resource_type", reservation.resource_type) != reservation.resource_type:
        message = (
            f"A reservation keeps its resource type {reservation.resource_type}; make another lease for another type."
        )
        raise ConflictError(message, field="resource_type")
    return reservation


@dataclass(frozen=True, slots=True)
class Amending(Joining):
    """The use case, about the lease as it was `seen`."""

    seen: Lease
    amendment: Amendment
    pools: frozenset[str]

    def __call__(self, unit: Unit) -> Decision:
        self.wanted(unit)
        return self.decided(unit, unit.lock_and_move(self.pools), None)

    def wanted(self, unit: Unit) -> None:
        """Check what the lease asks for then against the limits of the project."""
        if self.amendment.changes.moves_nothing:
            return
        seen = as_of(self.seen, unit.now)
        proposed = self.amendment.applied(seen, new_window(seen, self.amendment.changes, unit.now), unit.now)
        unit.service.enforcement.check_update(seen, proposed, unit.deciding)

    def decided(self, unit: Unit, locks: Locks, wanted: None) -> Decision:  # noqa: ARG002 - it is in the amendment
        """Return the change of the lease; raises ChangedMeanwhileError if it changed since it was seen."""
        lease = unit.as_seen(self.seen)
        if lease is None:
            raise ChangedMeanwhileError
        if self.amendment.changes.moves_nothing:
            return self._described(unit.service, lease, locks)
        return self._waiting(unit.service, lease, locks) if lease.waits else self._moved(unit, lease, locks)

    def _moved(self, unit: Unit, lease: Lease, locks: Locks) -> Decision:
        """Return the change of dates or reservations, with what the lease has then."""
        service, changes, now = unit.service, self.amendment.changes, locks.now
        window, source = new_window(lease, changes, now), service.source_of(lease)
        source.check_window(locks.connection, lease, window, now)
        check_not_lending(locks.connection, lease)
        self.amendment.check_endings(lease, now)
        after = self._rearmed(service, lease, self.amendment.applied(lease, window, now), locks)
        gets = _as_it_is(lease)
        if source.reallocates:
            gets = Reallocation(unit, locks, self.amendment, lease, window).decided()
        times = [event.time for event in after.events]
        chosen = {part: sorted(each, key=lambda pick: pick.resource_number) for part, each in gets.picks.items()}
        unit.approval.require(
            (after.window, times, chosen, gets.moved),
            lambda: ExternalView(service, unit.connection).amendment(changes, lease, after, gets.picks),
        )
        news = ["lease.update"]
        if lease.reached(EventType.BEFORE_END) and not after.reached(EventType.BEFORE_END):
            news.append("lease.event.before_end_lease.stop")
        after = with_flags(after, gets.flags)
        return Decision(
            locks=locks,
            lease=after,
            before=lease,
            stay=gets.stay,
            writes=gets.writes,
            keeps=gets.keeps,
            news=news,
            due=now,
            frees=True,
            alone=gets.moves_others,
        )

    def _described(self, service: Service, lease: Lease, locks: Locks) -> Decision:
        """Return the change of what no allocation depends on."""
        after = move(self.amendment.changes.described(lease), Trigger.AMENDED)
        after = self._rearmed(service, lease, after, locks)
        shared = after.shared_with != lease.shared_with
        news = {
            LeaseNews.RENAMED: after.name != lease.name,
            LeaseNews.PURPOSE: after.purpose != lease.purpose,
            LeaseNews.HEAL_POLICY: after.heal_policy != lease.heal_policy,
            LeaseNews.REMINDERS: after.reminders != lease.reminders,
            "lease.update": shared,
        }
        told = [event for event, changed in news.items() if changed]
        return Decision(locks=locks, lease=after, before=lease, news=told, due=locks.now if shared else None)

    def _waiting(self, service: Service, lease: Lease, locks: Locks) -> Decision:
        """Return the change of a lease that waits, which is tried at once; what it waits with counts from now on."""
        current = as_of(lease, locks.now)
        window = new_window(current, self.amendment.changes, locks.now)
        if not window.duration:
            message = "A lease that waits has to end after its start; delete it if it is not needed any more."
            raise InvalidInputError(message, field="end_date")
        after = replace(self.amendment.applied(current, window, locks.now), status_reason=lease.status_reason)
        check_sharing(service, locks.connection, lease, after, locks.now)
        return Decision(locks=locks, lease=after, before=lease, news=["lease.update"], due=locks.now)

    def _rearmed(self, service: Service, lease: Lease, after: Lease, locks: Locks) -> Lease:
        """Return the changed lease with its warnings set anew; raises the errors of `check_sharing`."""
        check_sharing(service, locks.connection, lease, after, locks.now)
        return rearmed(lease, after, locks.now, service.settings.manager.warn_before_end)


def _as_it_is(lease: Lease) -> Reallocated:
    """Return that a lease keeps what it has."""
    picks = {part.id: [held.pick for held in held_by(part, lease)] for part in lease.kept}
    return Reallocated(picks, moved=(), stay=(), writes=(), keeps=(), flags={})
