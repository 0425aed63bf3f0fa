"""Amend a lease: the same transaction as creating one, with the lease's own promises taken out first (design §4).

It keeps what it holds wherever it can; all reservations change or none do; a refusal leaves no trace.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.books.lease import find_lease, save_lease
from leasehold.books.outbox import put_event
from leasehold.books.pool import bump_pools, lock_pools
from leasehold.books.task import LEASE, hurry_task
from leasehold.enforcement.deciding import Deciding
from leasehold.leasing.bounds import Conditions, check_texts
from leasehold.leasing.dates import new_warning, new_window
from leasehold.leasing.decide import Asked, Terms, promised_window
from leasehold.leasing.offer import Offering
from leasehold.leasing.promises import (
    Rewriting,
    check_left,
    held_by,
    leaving,
    left_by,
    pool_of,
    pools_of,
    rewrite,
    whole_left_by,
)
from leasehold.leasing.sight import check_names, hidden_names
from leasehold.metrics.decision import decision
from leasehold.model.allocation import Pick
from leasehold.model.budget import Budget
from leasehold.model.caller import EVERYTHING, Caller
from leasehold.model.errors import (
    BusyError,
    ConflictError,
    InvalidInputError,
    LeaseholdError,
    MissingParameterError,
    NotFoundError,
    StaleError,
)
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus, may_move
from leasehold.model.windows import to_minute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.books.pool import LockedPools
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Sight
    from leasehold.model.draft import LeaseChanges
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window
    from leasehold.resource_types.base import Request

TRIES = 5


class _ChangedMeanwhileError(Exception):
    """The lease is no longer the one that the request was prepared for."""


@decision("amend")
def amend_lease(
    service: Service,
    lease_id: str,
    changes: LeaseChanges,
    if_generation: int | None = None,
    sight: Sight = EVERYTHING,
) -> Lease:
    """Change a lease and return it as it is afterwards (rules: contract http-api §5.4).

    `sight` is what the caller may ask about hosts.

    Raises NotFoundError, StaleError when `if_generation` is no longer the lease's, BusyError while it is starting or
    ending, InvalidInputError for what may not change, NotEnoughError or InUseError when it does not fit.
    """
    for _attempt in range(TRIES):
        seen = _see(service, lease_id)
        if if_generation not in (None, seen.generation):
            raise StaleError
        if changes.nothing:
            return seen
        requests = _read_requests(service, seen, changes, sight)
        work = _Amendment(service, seen, changes, requests, hidden_names(service, sight, requests.values()))
        try:
            lease = service.decide(work)
        except _ChangedMeanwhileError:
            continue
        service.wake()
        return lease
    message = f"The lease {lease_id} keeps changing; send the request again in a moment."
    raise BusyError(message)


def _see(service: Service, lease_id: str) -> Lease:
    with service.books.reading() as connection:
        lease = find_lease(connection, lease_id)
    if lease is None:
        raise NotFoundError("lease_id", lease_id)
    if not may_move(lease.status, LeaseStatus.UPDATING):
        message = f"The lease is {lease.status}; change it when that is done."
        raise BusyError(message)
    return lease


def _read_requests(service: Service, lease: Lease, changes: LeaseChanges, sight: Sight) -> dict[str, Request]:
    """Return the changed requests by reservation id; this may ask the cloud, so it comes before the transaction."""
    by_id = {reservation.id: reservation for reservation in lease.reservations}
    requests = {}
    changed = changes.reservations or ()
    if len(changed) > max(1, len(by_id)):
        message = f"The request changes {len(changed)} reservations, and the lease has {len(by_id)}; name each once."
        raise InvalidInputError(message, field="reservations")
    check_texts(changed)
    conditions = Conditions()
    for position, raw in enumerate(changed):
        try:
            reservation = _named(by_id, raw)
            kind = service.types.get(reservation.resource_type)
            owner = Caller(lease.user_id, lease.project_id)
            request = kind.amend(reservation, raw)
            conditions.add(request)
            check_names(sight, request, dict(reservation.request))
            requests[reservation.id] = kind.resolve(service.cloud, owner, request)
        except LeaseholdError as error:
            raise error.under(f"reservations[{position}]") from None
    return requests


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
class _Amendment:
    """The transaction, which may have to run more than once."""

    service: Service
    seen: Lease
    changes: LeaseChanges
    requests: Mapping[str, Request]
    hidden: frozenset[str]

    def __call__(self, connection: Connection) -> Lease:
        now = self.service.now()
        pools = set() if self.changes.only_name else pools_of(self.seen, self.service.types)
        if not self.changes.only_name:
            window = new_window(self.seen, self.changes, now)
            after = self._amended(self.seen, window, new_warning(self.seen, self.changes, window), now)
            self.service.enforcement.check_update(self.seen, after, Deciding(connection, now))
        generations = lock_pools(connection, pools)
        lease = find_lease(connection, self.seen.id, lock=True)
        if lease is None or lease.generation != self.seen.generation:
            raise _ChangedMeanwhileError
        if self.changes.only_name:
            return save_lease(connection, lease, replace(lease, name=self.changes.name or lease.name), now)
        window = new_window(lease, self.changes, now)
        after = self._amended(lease, window, new_warning(lease, self.changes, window), now)
        if self._promise(connection, lease, window, generations, now):
            after = _whole(after)
        after = save_lease(connection, lease, after, now)
        hurry_task(connection, LEASE, lease.id, now)
        bump_pools(connection, generations)
        put_event(connection, "lease.update", after, now)
        if lease.reached(EventType.BEFORE_END) and not after.reached(EventType.BEFORE_END):
            put_event(connection, "lease.event.before_end_lease.stop", after, now)
        return after

    def _promise(
        self, connection: Connection, lease: Lease, window: Window, generations: LockedPools, now: datetime
    ) -> bool:
        """Decide what each reservation gets in the new window, and write the difference to what it holds.

        Returns whether each has all that it asked for. What only shrinks is never refused: a reservation that lost
        resources gets others where there are any, and keeps what is left otherwise.
        """
        parts = lease.reservations
        decided: Sequence[Sequence[Pick]] = [[held.pick for held in held_by(part, lease)] for part in parts]
        shrinks = lease.window.start <= window.start and window.end <= lease.window.end
        shrinks = shrinks and all(self._request(part) == dict(part.request) for part in parts)
        movable = not shrinks and not lease.reached(EventType.START) and lease.window.start >= to_minute(now)
        whole = not any(part.missing_resources for part in parts)
        if not shrinks or (not whole and window.end > now):
            try:
                decided, whole = self._decide(connection, lease, window, generations, now, movable=movable), True
            except LeaseholdError:
                if not shrinks:
                    raise
        for part, picks in zip(parts, decided, strict=True):
            pool = pool_of(part, self.service.types)
            if pool is not None:
                rewrite(connection, Rewriting(lease, part, window, generations[pool] + 1, now), picks, pool)
        return whole

    def _decide(
        self,
        connection: Connection,
        lease: Lease,
        window: Window,
        generations: LockedPools,
        now: datetime,
        *,
        movable: bool,
    ) -> Sequence[Sequence[Pick]]:
        changes = enumerate(self.changes.reservations or ())
        places = {change["id"]: f"reservations[{position}]" for position, change in changes}
        ahead = promised_window(window.start, window.end, now)
        begun = ahead.start <= now
        asked = [
            Asked(
                self.service.types.get(part.resource_type),
                self._request(part),
                held=tuple(held.pick for held in held_by(part, lease)),
                leaving=tuple(held.pick for held in (*leaving(part, lease), *whole_left_by(part))) if begun else (),
                firm=part.status is ReservationStatus.ACTIVE,
                touched=lease.reached(EventType.START),
                before=dict(part.request),
                place=places.get(part.id),
                hidden=self.hidden,
            )
            for part in lease.reservations
        ]
        own = [part.id for part in lease.reservations]
        with self.service.calendars.synced(connection, generations, now) as snapshots:
            others = {pool: snapshot.without(own) for pool, snapshot in snapshots.items()}
            views = {pool: view.booked(self._kept_off(lease, pool), ahead) for pool, view in others.items()}
            settings = self.service.settings.leases
            budget = Budget(settings.decision_seconds, self.service.steady)
            terms = Terms(ahead, window.duration, settings.cleaning_time, budget)
            allowed = partial(self._allowed, lease, now, connection)
            decided = Offering(views, asked, terms, allowed, settings.explanation_seconds, movable=movable).decide()
            for part, want, picks in zip(lease.reservations, asked, decided, strict=True):
                check_left(left_by(part), picks, others[want.kind.pool], ahead)
            return decided

    def _kept_off(self, lease: Lease, pool: str) -> list[Pick]:
        """Return the hosts whose slots were left when they failed, to be given to no part of the lease either.

        Servers may be there that the promises do not count. A whole host may be taken back with its servers.
        """
        left = (each for part in lease.reservations for each in left_by(part))
        return [Pick(each.resource_number) for each in left if each.pool == pool and each.demand is not None]

    def _allowed(self, lease: Lease, now: datetime, connection: Connection, window: Window) -> bool:
        """Say whether the limits let the lease have another window."""
        after = self._amended(lease, window, None, now)
        try:
            self.service.enforcement.check_update(lease, after, Deciding(connection, now))
        except LeaseholdError:
            return False
        return True

    def _request(self, part: Reservation) -> Request:
        return self.requests.get(part.id, dict(part.request))

    def _amended(self, lease: Lease, window: Window, warning: datetime | None, now: datetime) -> Lease:
        """Return the lease as the client wants it; what had failed gets another try, unless the change ends it."""
        after = replace(lease, name=self.changes.name or lease.name, window=window)
        for ident, request in self.requests.items():
            after = after.with_reservations({ident}, request=request)
        times = {EventType.START: window.start, EventType.END: window.end, EventType.BEFORE_END: warning}
        for kind, time in times.items():
            event = lease.event(kind)
            if event is None or time is None:
                continue
            again = event.time != time and kind is EventType.BEFORE_END
            after = after.with_event(kind, time=time, status=EventStatus.UNDONE if again else event.status)
        if lease.status is LeaseStatus.ERROR:
            return _tried_again(after) if window.end > now else after
        return replace(after, status_reason=None)


def _tried_again(lease: Lease) -> Lease:
    """Return a failed lease with its start under way again: part of it may be in the cloud, so it is not pending."""
    failed = {part.id for part in lease.reservations if part.status is ReservationStatus.ERROR}
    lease = lease.with_reservations(failed, status=ReservationStatus.PENDING)
    lease = lease.with_event(EventType.START, status=EventStatus.IN_PROGRESS)
    return replace(lease, status=LeaseStatus.STARTING, status_reason=None)


def _whole(lease: Lease) -> Lease:
    """Take back the flag of what was missing (feature J4); that resources were exchanged stays true."""
    missing = {part.id for part in lease.reservations if part.missing_resources}
    if not missing:
        return lease
    changed = any(part.resources_changed for part in lease.reservations)
    return replace(lease.with_reservations(missing, missing_resources=False), degraded=changed)
