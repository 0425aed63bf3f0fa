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
    from collections.abc import Mapping, Sequence
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
        after = self._amended(lease, window, new_warning(lease, self.changes, window))
        self.service.enforcement.check_update(lease, after)
        self._promise(connection, lease, window, generations, now)
        after = save_lease(connection, lease, after, now)
        hurry_task(connection, LEASE, lease.id, now)
        bump_pools(connection, generations)
        put_event(connection, "lease.update", after, now)
        if lease.reached(EventType.BEFORE_END) and not after.reached(EventType.BEFORE_END):
            put_event(connection, "lease.event.before_end_lease.stop", after, now)
        return after

    def _promise(
        self, connection: Connection, lease: Lease, window: Window, generations: Mapping[str, int], now: datetime
    ) -> None:
        """Decide what each reservation gets in the new window, and write the difference to what it holds."""
        parts = [part for part in lease.reservations if part.status is not ReservationStatus.DELETED]
        shrinks = lease.window.start <= window.start and window.end <= lease.window.end
        ahead = promised_window(window.start, window.end, now)
        if shrinks and all(self._request(part) == dict(part.request) for part in parts):
            decided: Sequence[Sequence[Pick]] = [[held.pick for held in _held(part)] for part in parts]
        else:
            decided = self._decide(connection, lease, parts, window, generations, now)
        for part, picks in zip(parts, decided, strict=True):
            pool = self.service.types.get(part.resource_type).pool
            _rewrite(connection, part, picks, pool, generations[pool] + 1, ahead, now)

    def _decide(
        self,
        connection: Connection,
        lease: Lease,
        parts: Sequence[Reservation],
        window: Window,
        generations: Mapping[str, int],
        now: datetime,
    ) -> Sequence[Sequence[Pick]]:
        asked = [
            Asked(
                self.service.types.get(part.resource_type),
                self._request(part),
                held=tuple(held.pick for held in _held(part)),
                firm=lease.reached(EventType.START) and part.status is ReservationStatus.ACTIVE,
                before=dict(part.request),
            )
            for part in parts
        ]
        own = [part.id for part in lease.reservations]
        with self.service.calendars.synced(connection, generations, now) as snapshots:
            views = {pool: snapshot.without(own) for pool, snapshot in snapshots.items()}
            ahead = promised_window(window.start, window.end, now)
            margin = self.service.settings.leases.cleaning_time
            return decide(views, asked, ahead, window.duration, margin)

    def _request(self, part: Reservation) -> Request:
        return self.requests.get(part.id, dict(part.request))

    def _amended(self, lease: Lease, window: Window, warning: datetime | None) -> Lease:
        """Return the lease as the client wants it; what had failed gets another try."""
        after = replace(
            lease, name=self.changes.name or lease.name, window=window, status=_status_after(lease), status_reason=None
        )
        for ident, request in self.requests.items():
            after = after.with_reservations({ident}, request=request)
        if lease.status is LeaseStatus.ERROR:
            failed = {part.id for part in lease.reservations if part.status is ReservationStatus.ERROR}
            after = after.with_reservations(failed, status=ReservationStatus.PENDING)
        times = {EventType.START: window.start, EventType.END: window.end, EventType.BEFORE_END: warning}
        for kind, time in times.items():
            event = lease.event(kind)
            if event is None or time is None:
                continue
            again = event.status is EventStatus.ERROR or (kind is EventType.BEFORE_END and event.time != time)
            after = after.with_event(kind, time=time, status=EventStatus.UNDONE if again else event.status)
        return after


def _held(part: Reservation) -> list[Allocation]:
    return [held for held in part.allocations if held.released_at is None and held.window.end > held.window.start]


def _rewrite(
    connection: Connection,
    part: Reservation,
    picks: Sequence[Pick],
    pool: str,
    generation: int,
    ahead: Window,
    now: datetime,
) -> None:
    """Move the promises that stay, end those that go, write those that are new."""
    wanted = Counter(_key(pick) for pick in picks)
    stays: dict[datetime, list[int]] = {}
    goes: list[int] = []
    for held in _held(part):
        if wanted[_key(held.pick)] > 0:
            wanted[_key(held.pick)] -= 1
            begin = held.window.start if held.window.start <= now else ahead.start
            stays.setdefault(begin, []).append(held.id)
        else:
            goes.append(held.id)
    for begin, ids in stays.items():
        move_allocations(connection, ids, generation, Window(begin, max(begin, ahead.end)))
    if goes:
        # The reservation has not begun, or goes on holding the same host with other slots: nobody has to wait.
        end_allocations(connection, goes, generation, now, released=True)
    fresh = []
    for pick in picks:
        if wanted[_key(pick)] > 0:
            wanted[_key(pick)] -= 1
            fresh.append((part.id, pick))
    insert_allocations(connection, pool, generation, part.lease_id, ahead, fresh)


def _key(pick: Pick) -> tuple[int, int, frozenset[tuple[str, int]] | None]:
    return pick.resource_number, pick.slots, None if pick.demand is None else frozenset(pick.demand.items())


def new_window(lease: Lease, changes: LeaseChanges, now: datetime) -> Window:
    """Return the window after the change; raises InvalidInputError by the rules of contract http-api §5.4.

    They compare with the current minute, because v1 dates have no seconds: ending a lease "now" is legal.
    """
    minute = to_minute(now)
    start, end = changes.start or lease.window.start, changes.end or lease.window.end
    if lease.window.end < minute:
        message = "Terminated leases can only be renamed."
        raise InvalidInputError(message, field="name")
    if lease.window.start < minute and start != lease.window.start:
        message = "Cannot modify the start date of an already started lease."
        raise InvalidInputError(message, field="start_date")
    if lease.window.start > minute and start < minute:
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


def _status_after(lease: Lease) -> LeaseStatus:
    """Return the status that the events say; a failed lease gets another try at what failed."""
    if lease.status is not LeaseStatus.ERROR:
        return lease.status
    start = lease.event(EventType.START)
    return LeaseStatus.ACTIVE if start and start.status is EventStatus.DONE else LeaseStatus.PENDING
