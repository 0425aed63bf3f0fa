"""Amend a lease: the same transaction as for a new one, but the lease's own allocations count as free (design §4).

The lease keeps the resources it holds if possible. All reservations change or none; a refusal changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError

from leasehold.db.idempotency import keep_key
from leasehold.db.leases.lease import save_lease
from leasehold.db.outbox import put_event
from leasehold.db.task import LEASE, hurry_task
from leasehold.enforcement.external import ExternalCall
from leasehold.leasing.amended import Amendment
from leasehold.leasing.approval import Approval, approved
from leasehold.leasing.dates import check_open_end, new_window
from leasehold.leasing.deciding.allocations import held_by, pools_of
from leasehold.leasing.deciding.default_properties import condition_in, names_properties
from leasehold.leasing.deciding.flags import put_flag_event, with_flags
from leasehold.leasing.dry_run import tried, undo
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.lapse import decide_anew
from leasehold.leasing.once import done_before
from leasehold.leasing.requests import Read, conditions_of, ending_of, no_show_of, place_of, read_requests
from leasehold.leasing.room.reallocation import Reallocation
from leasehold.leasing.sharing import check_sharing
from leasehold.leasing.steps import vacating
from leasehold.leasing.steps.vacating import Vacated
from leasehold.leasing.sub_lease import check_not_lending
from leasehold.leasing.unit import bump_and_hurry, lock_as_seen, look_again, look_at
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
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.create import Along
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.deciding.flags import Flags
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Pick
    from leasehold.model.caller import Sight
    from leasehold.model.draft import LeaseChanges, Once
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression
    from leasehold.model.reservation import Reservation

DROPPABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.ACTIVE})
"""Statuses in which a lease may lose a reservation: no step works with what it has."""


@decision("amend")
def amend_lease(
    service: Service,
    lease_id: str,
    changes: LeaseChanges,
    if_generation: int | None = None,
    sight: Sight = EVERYTHING,
    once: Once | None = None,
    along: Along | None = None,
) -> Lease:
    """Change a lease and return the changed lease (rules: contract http-api §5.4).

    `sight` says what the caller may ask about hosts. A request that was carried out `once` changes nothing again, and
    returns the lease as it is; with another request of the same key ConflictError is raised.

    Raises NotFoundError; StaleError when the lease's generation is not `if_generation`; BusyError while it is starting
    or ending, or when it changed during each of five tries; InvalidInputError for a change that is not allowed;
    LendingError for a lease that lends; those of its source, and of `check_sharing`;
    WaitingLeaseError for the reservations of a lease that waits; ConflictError for dropping all that it has;
    NotEnoughError or InUseError when it does not fit; the errors of `vacating.named` and of `approved`.
    """
    lease = _amend(service, lease_id, changes, if_generation, sight, once, along)
    service.wake()
    return lease


@decision("amend, dry run")
def try_amendment(
    service: Service,
    lease_id: str,
    changes: LeaseChanges,
    if_generation: int | None = None,
    sight: Sight = EVERYTHING,
) -> Lease:
    """Return the lease as `amend_lease` would change it, with its allocations, and leave no trace; raises the same."""
    return tried(lambda: _amend(service, lease_id, replace(changes, dry_run=True), if_generation, sight, None))


def _amend(
    service: Service,
    lease_id: str,
    changes: LeaseChanges,
    if_generation: int | None,
    sight: Sight,
    once: Once | None,
    along: Along | None = None,
) -> Lease:
    def attempt() -> Lease:
        if done := _done_before(service, once):
            return done
        seen = _see(service, lease_id, if_generation)
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
        decide = partial(_decide, service, seen, amendment, once, along)
        if seen.is_maintenance:
            # The window is the operator's own, and nobody approved it when it was made.
            return decide(Approval(needed=False))
        return approved(service, ExternalCall.UPDATE, seen.project_id, decide)

    return look_again(lease_id, attempt)


def _decide(
    service: Service, seen: Lease, amendment: Amendment, once: Once | None, along: Along | None, approval: Approval
) -> Lease:
    try:
        work = _Work(service, seen, amendment, once, along, approval)
        return decide_anew(service, work, _conditions(service, seen, amendment))
    except IntegrityError:
        # A request about another lease may have committed with this key at the same time, which raises its own error.
        if done := _done_before(service, once):
            return done
        raise


def _done_before(service: Service, once: Once | None) -> Lease | None:
    if once is None:
        return None
    with service.db.reading() as connection:
        return done_before(connection, once)


def _see(service: Service, lease_id: str, if_generation: int | None) -> Lease:
    with service.db.reading() as connection:
        lease = look_at(connection, lease_id)
    if not can(lease.status, Trigger.AMENDED):
        message = f"The lease is {lease.status}; change it when that is done."
        raise BusyError(message)
    if if_generation not in (None, lease.generation):
        raise StaleError
    return lease


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
    idents = [raw["id"] for raw in changed]
    requests = {ident: part.stored for ident, part in zip(idents, reading.parts, strict=True)}
    places = {ident: place_of(position) for position, ident in enumerate(idents)}
    endings = {ident: part.ending for ident, part in zip(idents, reading.parts, strict=True)}
    no_shows = {ident: part.no_show for ident, part in zip(idents, reading.parts, strict=True)}
    return Amendment(
        changes,
        requests,
        places,
        reading.hidden,
        tells_disabled=sight.disabled,
        endings=endings,
        no_shows=no_shows,
        vacated={ident: each.allocations for ident, each in vacated.items()},
        lowered={ident: each.part.request for ident, each in vacated.items()},
        naming=frozenset(
            ident
            for ident, part in zip(idents, reading.parts, strict=True)
            if names_properties(part.type.kind, part.request)
        ),
    )


def _without(changes: LeaseChanges, sight: Sight, vacated: Vacated) -> Amendment:
    """Return the amendment by which a reservation loses a resource, and everything else stays."""
    part, asks = vacated.part, {vacated.part.id: vacated.part.request}
    lost = {part.id: vacated.allocations}
    return Amendment(changes, asks, {}, frozenset(), sight.disabled, {part.id: part.ending}, vacated=lost, lowered=asks)


def _conditions(service: Service, lease: Lease, amendment: Amendment) -> Sequence[tuple[str, Expression]]:
    """Return the conditions of a decision about the whole lease, without reservations whose plugin is missing."""
    if amendment.changes.moves_nothing:
        return ()
    found = [(service.types.find(part.resource_type), part) for part in lease.kept]
    usable = [(each.kind, part) for each, part in found if each is not None]
    conditions = conditions_of((kind, kind.load(amendment.request(part))) for kind, part in usable)
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
class _Work:
    """The transaction, which may have to run more than once."""

    service: Service
    seen: Lease
    amendment: Amendment
    once: Once | None
    along: Along | None
    approval: Approval

    def __call__(self, evaluated: Evaluated, connection: Connection) -> Lease:
        lease = self._amended(evaluated, connection)
        if self.along is not None:
            self.along(connection, lease)
        if self.amendment.changes.dry_run:
            raise undo(connection, lease)
        if self.once is not None:
            keep_key(connection, self.once.project_id, self.once.key, self.once.digest, lease.id, self.service.now())
        return lease

    def _amended(self, evaluated: Evaluated, connection: Connection) -> Lease:
        now, changes = self.service.now(), self.amendment.changes
        pools = set() if changes.moves_nothing or self.seen.waits else pools_of(self.seen, self.service.types)
        if not changes.moves_nothing:
            seen = as_of(self.seen, now)
            after = self.amendment.applied(seen, new_window(seen, changes, now), now)
            self.service.enforcement.check_update(seen, after, self.service.deciding(connection, now))
        generations, lease = lock_as_seen(connection, self.seen, pools)
        now = self.service.now()
        if changes.moves_nothing:
            return self._describe(connection, lease, now)
        if lease.waits:
            return self._wait(connection, lease, now)
        window = new_window(lease, changes, now)
        source = self.service.source_of(lease)
        source.check_window(connection, lease, window, now)
        check_not_lending(connection, lease)
        self.amendment.check_endings(lease, now)
        after = self.amendment.applied(lease, window, now)
        check_sharing(self.service, connection, lease, after, now)
        after = rearmed(lease, after, now, self.service.settings.manager.warn_before_end)

        def approve(picks: Mapping[str, Sequence[Pick]], moved: object) -> None:
            times = [event.time for event in after.events]
            chosen = {part: sorted(each, key=lambda pick: pick.resource_number) for part, each in picks.items()}
            self.approval.require(
                (after.window, times, chosen, moved),
                lambda: ExternalView(self.service, connection).amendment(changes, lease, after, picks),
            )

        flags: Mapping[str, Flags] = {}
        if source.reallocates:
            asking = (self.service, connection, self.amendment, evaluated, generations, lease, window, now, approve)
            flags = Reallocation(*asking).promise()
        else:
            approve({part.id: [held.pick for held in held_by(part, lease)] for part in lease.kept}, ())
        after = save_lease(connection, lease, with_flags(after, flags), now)
        hurry_task(connection, LEASE, lease.id, now)
        bump_and_hurry(connection, generations, now)
        put_event(connection, "lease.update", after, now)
        put_flag_event(connection, lease, after, now)
        if lease.reached(EventType.BEFORE_END) and not after.reached(EventType.BEFORE_END):
            put_event(connection, "lease.event.before_end_lease.stop", after, now)
        return after

    def _describe(self, connection: Connection, lease: Lease, now: datetime) -> Lease:
        """Change only what no allocation depends on."""
        after = move(self.amendment.changes.described(lease), Trigger.AMENDED)
        check_sharing(self.service, connection, lease, after, now)
        after = rearmed(lease, after, now, self.service.settings.manager.warn_before_end)
        after = save_lease(connection, lease, after, now)
        if after.name != lease.name:
            put_event(connection, LeaseNews.RENAMED, after, now)
        if after.heal_policy != lease.heal_policy:
            put_event(connection, LeaseNews.HEAL_POLICY, after, now)
        if after.reminders != lease.reminders:
            put_event(connection, LeaseNews.REMINDERS, after, now)
        if after.shared_with != lease.shared_with:
            hurry_task(connection, LEASE, lease.id, now)
            put_event(connection, "lease.update", after, now)
        return after

    def _wait(self, connection: Connection, lease: Lease, now: datetime) -> Lease:
        """Change the dates of a lease that waits, and try it at once; what it waits with counts from now on."""
        current = as_of(lease, now)
        window = new_window(current, self.amendment.changes, now)
        if not window.duration:
            message = "A lease that waits has to end after its start; delete it if it is not needed any more."
            raise InvalidInputError(message, field="end_date")
        after = replace(self.amendment.applied(current, window, now), status_reason=lease.status_reason)
        check_sharing(self.service, connection, lease, after, now)
        after = save_lease(connection, lease, after, now)
        hurry_task(connection, LEASE, lease.id, now)
        put_event(connection, "lease.update", after, now)
        return after
