"""The follower: it reads the event log in order, and writes what was late, missing or given up (decision 0150).

A page of events is one transaction with the cursor, so each event counts once, whatever stops in between.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from leasehold.db.event_log import each_event, log_state
from leasehold.db.lease_state import lease_of
from leasehold.db.tables import outbox
from leasehold.features.usage import store
from leasehold.features.usage.model import Terms, account, is_over, promises_of
from leasehold.model.event_log import ENDED_BY_OTHERS, EventFilter
from leasehold.model.states import ReservationStatus
from leasehold.model.windows import to_seconds
from leasehold.resource_types.whole import WholeKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from threading import Event

    from sqlalchemy import Connection, Row

    from leasehold.features.usage.model import LostSpan
    from leasehold.leasing.service import Service
    from leasehold.model.event_log import LogEvent
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.registry import ResourceTypes

log = logging.getLogger(__name__)

PAGE = 200
"""Events in one transaction."""


def follow(service: Service, stopping: Event | None = None) -> int:
    """Account for all events that the log has, and return how many there were; ends after a page when `stopping`."""
    total = 0
    while not (stopping is not None and stopping.is_set()) and _is_behind(service):
        total += service.db.transact(partial(follow_page, service.types))
    return total


def first_unread(connection: Connection) -> int | None:
    """Return when the oldest event was that is not accounted for, also one without a position; None: all are."""
    known = store.find_progress(connection, store.EVENTS)
    later = or_(outbox.c.position.is_(None), outbox.c.position > (0 if known is None else known.position))
    oldest = connection.execute(select(func.min(outbox.c.created_at)).where(later)).scalar()
    return None if oldest is None else to_seconds(oldest)


def _is_behind(service: Service) -> bool:
    """Say whether the log goes on after the cursor; takes no lock."""
    with service.db.reading() as connection:
        known = store.find_progress(connection, store.EVENTS)
        return log_state(connection).end.position > (0 if known is None else known.position)


def follow_page(types: ResourceTypes, connection: Connection) -> int:
    """Account for the next page of events, and return how many there were.

    Raises GenerationRaceError, or IntegrityError for the first page, when another manager has done so meanwhile.
    """
    before = store.find_progress(connection, store.EVENTS, lock=True)
    position = 0 if before is None else before.position
    events = list(each_event(connection, position, EventFilter(None), PAGE))
    if not events:
        return 0
    purged = log_state(connection).purged
    if position < purged:
        log.warning(
            "Events up to position %d were purged, and those after %d not read: usage may lack them.", purged, position
        )
    told = [(event, lease_of(event.payload, event.lease_state)) for event in events if event.lease_id]
    if told:
        _account(types, connection, told)
    since = to_seconds(events[0].time) if before is None else before.since
    store.save_progress(connection, before, store.Progress(store.EVENTS, since, events[-1].cursor.position))
    return len(events)


def _account(types: ResourceTypes, connection: Connection, told: Sequence[tuple[LogEvent, Lease]]) -> None:
    """Write what events say of their leases."""
    known = store.terms_of(connection, {lease.id for _, lease in told})
    reading = _Reading.of(types, connection, [lease for _, lease in told])
    after = dict(known)
    lost: list[tuple[Terms, LostSpan]] = []
    for event, lease in told:
        for part in promises_of(lease):
            before = after.get(part.id)
            terms = reading.terms(lease, part, before, to_seconds(event.time))
            if before is None and terms.over_at is not None:
                # Its row was purged when it was over for long, and now its lease is deleted.
                continue
            after[part.id], spans = account(before, terms, owner_chose=event.type not in ENDED_BY_OTHERS)
            lost += [(after[part.id], span) for span in spans]
    store.save_terms(connection, known, after)
    store.add_losses(connection, lost)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the events do not say: the projects of lenders, and what reservations have that may get less than asked."""

    types: ResourceTypes
    lenders: Mapping[str, str]
    held: Mapping[str, Sequence[Row[Any]]]
    closed: int
    """What an event says counts from this moment on, if it is from before that."""

    @classmethod
    def of(cls, types: ResourceTypes, connection: Connection, told: Sequence[Lease]) -> _Reading:
        lenders = {lease.lent.lease_id for lease in told if lease.lent is not None}
        ranged = {part.id for lease in told for part in promises_of(lease) if _asked(types, part) is None}
        return cls(
            types,
            store.projects_of(connection, lenders) if lenders else {},
            store.held_by(connection, ranged) if ranged else {},
            store.closed_until(connection),
        )

    def terms(self, lease: Lease, part: Reservation, before: Terms | None, moment: int) -> Terms:
        """Return what a state of a lease says of a reservation of it; `before` is what was known."""
        start, end = lease.window.seconds
        moment = max(moment, self.closed)
        missing = (part.missing or 0) if part.missing_resources else 0
        amount = _asked(self.types, part)
        if amount is None:
            amount = self._has(part.id, max(moment, start)) + missing
        return Terms(
            reservation_id=part.id,
            lease_id=lease.id,
            project_id=lease.project_id,
            user_id=lease.user_id,
            resource_type=part.resource_type,
            amount=amount,
            missing=min(missing, amount),
            starts_at=start,
            ends_at=end,
            # Of a new one all counts from its start, which is cut to its minute.
            told_at=max(min(moment, start), self.closed) if before is None else moment,
            delivered_at=moment if part.status is ReservationStatus.ACTIVE else None,
            over_at=moment if is_over(lease, part) else None,
            lender_project_id=None if lease.lent is None else self.lenders.get(lease.lent.lease_id),
        )

    def _has(self, reservation_id: str, moment: int) -> int:
        """Return what a reservation has, or had, at a moment."""
        return sum(
            row.slots
            for row in self.held[reservation_id]
            if row.starts_at <= moment < row.ends_at and (row.left_at is None or to_seconds(row.left_at) > moment)
        )


def _asked(types: ResourceTypes, part: Reservation) -> int | None:
    """Return how much a reservation asks for; None if it may have got less, or if that is not known."""
    found = types.find(part.resource_type)
    if found is None or not part.request:
        return None
    try:
        request = found.kind.load(part.request)
        most = found.kind.amount(request)
        return None if isinstance(found.kind, WholeKind) and found.kind.least(request) < most else most
    except Exception:
        # One broken type must not keep the others from being accounted for.
        log.exception("A bug in %s: what reservation %s asks for is not known", part.resource_type, part.id)
        return None
