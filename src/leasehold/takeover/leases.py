"""Blazar's leases, reservations and events as values of our model."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.windows import Window
from leasehold.takeover.requests import Requests, UnreadableError
from leasehold.takeover.states import carry_on, with_states

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.takeover.findings import Findings
    from leasehold.takeover.rows import BlazarRows, EventRow, LeaseRow, ReservationRow
    from leasehold.takeover.states import Events

_OURS = UUID("0d5a3c0e-8f2e-5b8e-9c8c-3f3d0c7f5e11")
"""Namespace for the ids of events that Blazar's database lacks: each import derives the same ids."""
_NEEDED = (EventType.START, EventType.END)
_CHECK = "Check the lease after the import: openstack reservation lease show ID."
_FAILED = "It failed under Blazar, which stored no reason. Delete it, or wait for its end."
_USUAL = {
    LeaseStatus.ACTIVE: (EventStatus.DONE, EventStatus.UNDONE),
    LeaseStatus.TERMINATING: (EventStatus.DONE, EventStatus.UNDONE),
    LeaseStatus.TERMINATED: (EventStatus.DONE, EventStatus.DONE),
    LeaseStatus.ERROR: (EventStatus.ERROR, EventStatus.UNDONE),
}
"""The status of the start and end events by the status of the lease."""
_NOT_BEGUN = (EventStatus.UNDONE, EventStatus.UNDONE)
"""The same for any other status."""


class LeaseReader:
    """Converts rows to leases and adds a finding for each row that does not fit."""

    def __init__(self, rows: BlazarRows, now: datetime, findings: Findings) -> None:
        self._rows, self._now, self._findings = rows, now, findings
        self._requests = Requests(rows)
        self._events: dict[str | None, list[EventRow]] = defaultdict(list)
        for event in rows.events:
            self._events[event.lease_id].append(event)
        self._reservations: dict[str | None, list[ReservationRow]] = defaultdict(list)
        for part in rows.reservations:
            self._reservations[part.lease_id].append(part)

    def all(self) -> list[Lease]:
        """Return the leases, without their allocations."""
        return [self._lease(row) for row in self._rows.leases]

    def _lease(self, row: LeaseRow) -> Lease:
        given = self._their_events(row)
        window = self._window(row)
        events = self._all_events(row, given, window)
        kinds = set(EventType)
        before: Events = {
            EventType(each.type): each.status or EventStatus.UNDONE for each in events if each.type in kinds
        }
        state = carry_on(row.status, before)
        if state.note:
            self._findings.add(row, f"The lease {row.name} {state.note}.", "Nothing; the manager continues the lease.")
        parts = self._parts(row, state.status)
        return Lease(
            id=row.id,
            name=row.name,
            user_id=self._owner(row, "user", row.user_id),
            project_id=self._owner(row, "project", row.project_id),
            window=window,
            status=state.status,
            status_reason=_FAILED if state.status is LeaseStatus.ERROR else None,
            degraded=any(part.missing_resources or part.resources_changed for part in parts),
            created_at=row.created_at or self._now,
            updated_at=row.updated_at,
            reservations=parts,
            events=with_states(events, state.events),
        )

    def _owner(self, row: LeaseRow, kind: str, value: str | None) -> str:
        if not value:
            what = f"The lease {row.name} has no {kind}; only administrators can see it."
            self._findings.add(row, what, "Delete it if nobody needs it.")
        return value or ""

    def _window(self, row: LeaseRow) -> Window:
        if row.end_date >= row.start_date:
            return Window(row.start_date, row.end_date)
        what = f"The lease {row.name} ends before it starts; its end is set to its start."
        self._findings.add(row, what, _CHECK)
        return Window(row.start_date, row.start_date)

    # ------------------------------------------------------------ events

    def _all_events(self, row: LeaseRow, given: Sequence[Event], window: Window) -> tuple[Event, ...]:
        """Return the lease's events with those that it needs and lacks, at their times."""
        usual = self._usual(row, self._reservations[row.id])
        missing = [kind for kind in _NEEDED if kind not in {event.type for event in given}]
        added = [self._added(row, kind, usual[kind]) for kind in missing]
        return tuple(self._timed(row, event, window) for event in (*given, *added))

    def _their_events(self, row: LeaseRow) -> list[Event]:
        """Return the lease's events, at most one of each of our types: the first that has a time."""
        chosen: dict[str, EventRow] = {}
        others = []
        for each in sorted(self._events[row.id], key=lambda event: event.time is None):
            if each.event_type not in set(EventType):
                others.append(each)
            elif each.time is None or each.event_type in chosen:
                what = f"The lease {row.name} has a second {each.event_type} event, or one without a time; left out."
                self._findings.add(each, what, _CHECK)
            else:
                chosen[each.event_type or ""] = each
        return [self._event(row, each) for each in (*chosen.values(), *others)]

    def _event(self, lease: LeaseRow, row: EventRow) -> Event:
        known = row.status in set(EventStatus)
        if row.status is not None and not known:
            what = f"The event {row.event_type} of lease {lease.name} has the unknown status {row.status}."
            self._findings.add(row, what, f"It is imported as not begun. {_CHECK}")
        return Event(
            id=row.id,
            lease_id=lease.id,
            type=row.event_type or "",
            time=row.time,
            status=EventStatus(row.status) if row.status and known else None,
            created_at=row.created_at or self._now,
            updated_at=row.updated_at,
        )

    def _added(self, row: LeaseRow, kind: EventType, status: EventStatus) -> Event:
        what = f"The lease {row.name} has no {kind} event; it gets one by its dates and its status {row.status}."
        self._findings.add(row, what, _CHECK)
        return Event(str(uuid5(_OURS, f"{row.id}/{kind}")), row.id, kind, None, status, self._now, None)

    def _timed(self, row: LeaseRow, event: Event, window: Window) -> Event:
        """Return the event with its time set by the lease's dates; an interrupted update leaves them different."""
        time = {EventType.START.value: window.start, EventType.END.value: window.end}.get(event.type, event.time)
        if time is not None and event.type == EventType.BEFORE_END:
            time = min(max(time, window.start), window.end)
        if event.time is not None and time != event.time:
            what = (
                f"The {event.type} event of lease {row.name} is at {event.time:%Y-%m-%d %H:%M}, not within its dates."
            )
            self._findings.add(row, what, f"The lease's own dates count. {_CHECK}")
        return replace(event, time=time)

    def _usual(self, row: LeaseRow, parts: Sequence[ReservationRow]) -> dict[EventType, EventStatus]:
        known = LeaseStatus(row.status) if row.status in set(LeaseStatus) else None
        told = {part.status for part in parts}
        if known is None or known is LeaseStatus.UPDATING:
            known = LeaseStatus.ACTIVE if ReservationStatus.ACTIVE in told else known
            known = LeaseStatus.TERMINATED if told == {ReservationStatus.DELETED.value} else known
        start, end = _USUAL.get(known, _NOT_BEGUN) if known else _NOT_BEGUN
        return {EventType.START: start, EventType.END: end}

    # ------------------------------------------------------------ reservations

    def _parts(self, lease: LeaseRow, status: LeaseStatus) -> tuple[Reservation, ...]:
        found = []
        for row in self._reservations[lease.id]:
            try:
                request, cloud = self._requests.read(row)
            except UnreadableError as error:
                what = f"A reservation of lease {lease.name} is left out: {error}."
                remedy = (
                    f"Remove by hand what it has in the cloud, such as the aggregate {row.id}; Blazar keeps the row."
                )
                self._findings.add(row, what, remedy)
                continue
            self._look_at_id(lease, row)
            found.append(
                Reservation(
                    id=row.id,
                    lease_id=lease.id,
                    resource_type=row.resource_type or "",
                    resource_id=row.resource_id or row.id,
                    request=request,
                    status=self._status(lease, row, status),
                    missing_resources=row.missing_resources,
                    resources_changed=row.resources_changed,
                    cloud=cloud,
                    created_at=row.created_at or self._now,
                    updated_at=row.updated_at,
                )
            )
        return tuple(found)

    def _look_at_id(self, lease: LeaseRow, row: ReservationRow) -> None:
        try:
            regular = str(UUID(row.id)) == row.id
        except ValueError:
            regular = False
        if not regular:
            what = f"The id of a reservation of lease {lease.name} is no UUID: {row.id!r}. It keeps its resources."
            remedy = (
                "After its end, check that nothing of this name is left in the cloud; the audit does not recognise it."
            )
            self._findings.add(row, what, remedy)

    def _status(self, lease: LeaseRow, row: ReservationRow, status: LeaseStatus) -> ReservationStatus:
        if row.status in set(ReservationStatus):
            return ReservationStatus(row.status)
        usual = {
            LeaseStatus.ACTIVE: ReservationStatus.ACTIVE,
            LeaseStatus.TERMINATING: ReservationStatus.ACTIVE,
            LeaseStatus.TERMINATED: ReservationStatus.DELETED,
            LeaseStatus.ERROR: ReservationStatus.ERROR,
        }.get(status, ReservationStatus.PENDING)
        what = f"A reservation of lease {lease.name} has the unknown status {row.status}; it becomes {usual}."
        self._findings.add(row, what, _CHECK)
        return usual
