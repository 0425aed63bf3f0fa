"""Amend a lease: the same transaction as creating one, with the lease's own promises taken out first (design §4).

It keeps what it holds wherever it can; all reservations change or none do; a refusal leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leasehold.books.allocation import end_allocations, insert_allocations, move_allocations
from leasehold.books.lease import find_lease, save_lease
from leasehold.books.outbox import put_event
from leasehold.books.pool import bump_pools, lock_pools
from leasehold.books.task import LEASE, hurry_task
from leasehold.leasing.decide import Asked, decide, promised_window
from leasehold.leasing.promises import held_by
from leasehold.model.caller import Caller
from leasehold.model.errors import (
    BusyError,
    ConflictError,
    InvalidInputError,
    LeaseholdError,
    MissingParameterError,
    NotFoundError,
    OutOfWindowError,
    StaleError,
)
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus, may_move
from leasehold.model.windows import Window, to_minute

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation, Pick
    from leasehold.model.draft import LeaseChanges
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.base import Request

TRIES = 5


class _ChangedMeanwhileError(Exception):
    """The lease is no longer the one that the request was prepared for."""


def amend_lease(service: Service, lease_id: str, changes: LeaseChanges, if_generation: int | None = None) -> Lease:
    """Change a lease and return it as it is afterwards (rules: contract http-api §5.4).

    Raises NotFoundError, StaleError when `if_generation` is no longer the lease's, BusyError while it is starting or
    ending, InvalidInputError for what may not change, NotEnoughError or InUseError when it does not fit.
    """
    for _attempt in range(TRIES):
        seen = _see(service, lease_id)
        if if_generation not in (None, seen.generation):
            raise StaleError
        if changes.nothing:
            return seen
        work = _Amendment(service, seen, changes, _read_requests(service, seen, changes))
        try:
            lease = service.books.transact(work)
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


def _read_requests(service: Service, lease: Lease, changes: LeaseChanges) -> dict[str, Request]:
    """Return the changed requests by reservation id; this may ask the cloud, so it comes before the transaction."""
    by_id = {reservation.id: reservation for reservation in lease.reservations}
    requests = {}
    for position, raw in enumerate(changes.reservations or ()):
        try:
            reservation = _named(by_id, raw)
            kind = service.types.get(reservation.resource_type)
            owner = Caller(lease.user_id, lease.project_id)
            requests[reservation.id] = kind.resolve(service.cloud, owner, kind.amend(reservation, raw))
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

    def __call__(self, connection: Connection) -> Lease:
        now = self.service.now()
        kinds = [self.service.types.get(part.resource_type) for part in self.seen.reservations]
        pools = set() if self.changes.only_name else {kind.pool for kind in kinds}
        generations = lock_pools(connection, pools)
        lease = find_lease(connection, self.seen.id, lock=True)
        if lease is None or lease.generation != self.seen.generation:
            raise _ChangedMeanwhileError
        if self.changes.only_name:
            return save_lease(connection, lease, replace(lease, name=self.changes.name or lease.name), now)
        window = new_window(lease, self.changes, now)
        after = self._amended(lease, window, new_warning(lease, self.changes, window), now)
        self.service.enforcement.check_update(lease, after)
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
        self, connection: Connection, lease: Lease, window: Window, generations: Mapping[str, int], now: datetime
    ) -> bool:
        """Decide what each reservation gets in the new window, and write the difference to what it holds.

        Returns whether each has all that it asked for. What only shrinks is never refused: a reservation that lost
        resources gets others where there are any, and keeps what is left otherwise.
        """
        parts = lease.reservations
        decided: Sequence[Sequence[Pick]] = [[held.pick for held in held_by(part, lease)] for part in parts]
        shrinks = lease.window.start <= window.start and window.end <= lease.window.end
        shrinks = shrinks and all(self._request(part) == dict(part.request) for part in parts)
        whole = not any(part.missing_resources for part in parts)
        if not shrinks or (not whole and window.end > now):
            try:
                decided, whole = self._decide(connection, lease, window, generations, now), True
            except LeaseholdError:
                if not shrinks:
                    raise
        for part, picks in zip(parts, decided, strict=True):
            pool = self.service.types.get(part.resource_type).pool
            _rewrite(connection, _Rewriting(lease, part, window, generations[pool] + 1, now), picks, pool)
        return whole

    def _decide(
        self,
        connection: Connection,
        lease: Lease,
        window: Window,
        generations: Mapping[str, int],
        now: datetime,
    ) -> Sequence[Sequence[Pick]]:
        changes = enumerate(self.changes.reservations or ())
        places = {change["id"]: f"reservations[{position}]" for position, change in changes}
        asked = [
            Asked(
                self.service.types.get(part.resource_type),
                self._request(part),
                held=tuple(held.pick for held in held_by(part, lease)),
                firm=part.status is ReservationStatus.ACTIVE,
                before=dict(part.request),
                place=places.get(part.id),
            )
            for part in lease.reservations
        ]
        own = [part.id for part in lease.reservations]
        with self.service.calendars.synced(connection, generations, now) as snapshots:
            views = {pool: snapshot.without(own) for pool, snapshot in snapshots.items()}
            ahead = promised_window(window.start, window.end, now)
            margin = self.service.settings.leases.cleaning_time
            return decide(views, asked, ahead, window.duration, margin)

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


@dataclass(frozen=True, slots=True)
class _Rewriting:
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
        """Return the new window of a promise that stays: what has begun goes on from where it began."""
        ahead = self.ahead
        begin = min(held.window.start, ahead.start) if self.window.start <= self.now else ahead.start
        return Window(begin, max(begin, ahead.end))


def _rewrite(connection: Connection, to: _Rewriting, picks: Sequence[Pick], pool: str) -> None:
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
    for window, ids in stays.items():
        move_allocations(connection, ids, to.generation, window)
    _end(connection, to, goes, {pick.resource_number for pick in picks})
    fresh = []
    for pick in picks:
        if wanted[_key(pick)] > 0:
            wanted[_key(pick)] -= 1
            fresh.append((to.part.id, pick))
    insert_allocations(connection, pool, to.generation, to.lease.id, to.ahead, fresh)


def _end(connection: Connection, to: _Rewriting, goes: Sequence[Allocation], stays: Collection[int]) -> None:
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


def new_window(lease: Lease, changes: LeaseChanges, now: datetime) -> Window:
    """Return the window after the change; raises InvalidInputError by the rules of contract http-api §5.4.

    They compare with the current minute, because v1 dates have no seconds: ending a lease "now" is legal.
    """
    minute = to_minute(now)
    start, end = changes.start or lease.window.start, changes.end or lease.window.end
    if lease.window.end < minute or lease.reached(EventType.END):
        message = "Terminated leases can only be renamed."
        raise InvalidInputError(message, field="name")
    if (lease.window.start < minute or lease.reached(EventType.START)) and start != lease.window.start:
        message = "Cannot modify the start date of an already started lease."
        raise InvalidInputError(message, field="start_date")
    if start != lease.window.start and start < minute:
        message = "Start date must be later than current date."
        raise InvalidInputError(message, field="start_date")
    if end < minute or end < start:
        message = "End date must be later than current and start date."
        raise InvalidInputError(message, field="end_date")
    return Window(start, end)


def new_warning(lease: Lease, changes: LeaseChanges, window: Window) -> datetime | None:
    """Return when the warning is due after the change: as asked, else at its old distance to the end."""
    if changes.before_end is not None:
        if not window.start < changes.before_end < window.end:
            message = "before_end_date must lie after the lease's start and before its end."
            raise OutOfWindowError(message, field="before_end_date")
        return changes.before_end
    event = lease.event(EventType.BEFORE_END)
    if event is None or event.time is None:
        return None
    return max(window.start, event.time + (window.end - lease.window.end))
