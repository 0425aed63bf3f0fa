"""The outbox: events, each written in the transaction that caused it; `db/event_log.py` puts them in order."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from leasehold.db.tables import outbox
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, LeaseStatus, ReservationStatus
from leasehold.model.subscription import BUS_EVENTS
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.model.alarm import Alarm
    from leasehold.model.event_log import AlarmNews, LogEvent, ResourceNews, ServerNews
    from leasehold.model.preemption import Preemption
    from leasehold.model.resource import Resource


def put_event(
    connection: Connection, event_type: str, lease: Lease, now: datetime, more: Mapping[str, Any] | None = None
) -> None:
    """Record an event of a lease, with the lease's state after it (contract lifecycle §9), and `more` keys."""
    connection.execute(
        insert(outbox),
        {
            "lease_id": lease.id,
            "project_id": lease.project_id,
            "event_type": event_type,
            "payload": {**_payload(lease), **(more or {})},
            "created_at": now,
            "generation": lease.generation,
            "lease_state": _state(lease) if event_type in BUS_EVENTS else None,
        },
    )


def _payload(lease: Lease) -> dict[str, Any]:
    return {
        "lease_id": lease.id,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "trust_id": None,
        "name": lease.name,
        "start_date": lease.window.start.isoformat(),
        "end_date": lease.window.end.isoformat(),
        "status": lease.status,
        "degraded": lease.degraded,
        "reservations": [
            {
                "id": part.id,
                "resource_type": part.resource_type,
                "status": part.status,
                "missing_resources": part.missing_resources,
                "resources_changed": part.resources_changed,
            }
            for part in lease.reservations
        ],
        "events": [{"id": event.id, "event_type": event.type, "status": event.status} for event in lease.events],
    }


def _state(lease: Lease) -> dict[str, Any]:
    """Return what the payload does not say of the lease, so that `lease_of` finds all of it; nothing twice."""
    return {
        **_moments(created_at=lease.created_at, updated_at=lease.updated_at),
        "reservations": [
            {
                "resource_id": part.resource_id,
                "request": dict(part.request),
                "cloud": dict(part.cloud),
                **_stamps(part, lease),
            }
            for part in lease.reservations
        ],
        "events": [{**_moments(time=event.time), **_stamps(event, lease)} for event in lease.events],
    }


def _stamps(part: Reservation | Event, lease: Lease) -> dict[str, str]:
    """Return when a part was made, unless that was with its lease, and changed."""
    made = None if part.created_at == lease.created_at else part.created_at
    return _moments(created_at=made, updated_at=part.updated_at)


def _moments(**moments: datetime | None) -> dict[str, str]:
    return {name: moment.isoformat() for name, moment in moments.items() if moment is not None}


def lease_of(event: LogEvent) -> Lease:
    """Return the lease as it was after an event of it, without allocations.

    What an older version has not written down is empty: the request, the resource and the moments of its parts.
    """
    payload, state = event.payload, event.lease_state or {}
    parts, moments = payload["reservations"], payload["events"]
    return Lease(
        id=payload["lease_id"],
        name=payload["name"],
        user_id=payload["user_id"],
        project_id=payload["project_id"],
        window=Window(datetime.fromisoformat(payload["start_date"]), datetime.fromisoformat(payload["end_date"])),
        status=LeaseStatus(payload["status"]),
        degraded=payload["degraded"],
        created_at=_moment(state, "created_at"),
        updated_at=_moment(state, "updated_at"),
        reservations=tuple(
            Reservation(
                id=shown["id"],
                lease_id=payload["lease_id"],
                resource_type=shown["resource_type"],
                resource_id=kept.get("resource_id", ""),
                request=kept.get("request", {}),
                status=ReservationStatus(shown["status"]),
                missing_resources=shown["missing_resources"],
                resources_changed=shown["resources_changed"],
                cloud=kept.get("cloud", {}),
                created_at=_moment(kept, "created_at") or _moment(state, "created_at"),
                updated_at=_moment(kept, "updated_at"),
            )
            for shown, kept in zip(parts, state.get("reservations") or [{}] * len(parts), strict=True)
        ),
        events=tuple(
            Event(
                id=shown["id"],
                lease_id=payload["lease_id"],
                type=shown["event_type"],
                time=_moment(kept, "time"),
                status=None if shown["status"] is None else EventStatus(shown["status"]),
                created_at=_moment(kept, "created_at") or _moment(state, "created_at"),
                updated_at=_moment(kept, "updated_at"),
            )
            for shown, kept in zip(moments, state.get("events") or [{}] * len(moments), strict=True)
        ),
    )


def _moment(kept: Mapping[str, Any], name: str) -> datetime | None:
    text = kept.get(name)
    return None if text is None else datetime.fromisoformat(text)


def put_resource_events(
    connection: Connection,
    event_type: ResourceNews,
    resources: Sequence[Resource],
    now: datetime,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Record an event of each resource, with its state after it (feature D7) and `more` keys; none for no resources.

    `created_at` is the moment of the event. Only administrators read them.
    """
    rows = [
        {
            "lease_id": "",
            "project_id": "",
            "event_type": event_type,
            "payload": {**_described(each), **(more or {})},
            "created_at": now,
            "resource_type": each.type,
            "resource_id": each.id,
        }
        for each in resources
    ]
    if rows:
        connection.execute(insert(outbox), rows)


def put_alarm_event(connection: Connection, event_type: AlarmNews, alarm: Alarm, now: datetime) -> None:
    """Record an event of a capacity alarm, with its state after it, for the project that has it (feature D6)."""
    payload = {
        "id": alarm.id,
        "name": alarm.name,
        "user_id": alarm.user_id,
        "project_id": alarm.project_id,
        "reservation": dict(alarm.reservation),
        "below": alarm.below,
        "duration": alarm.duration,
        "state": alarm.state,
        "available": alarm.available,
        "reason": alarm.reason,
    }
    row = {"lease_id": "", "project_id": alarm.project_id, "event_type": event_type}
    connection.execute(insert(outbox), {**row, "payload": payload, "created_at": now})


def put_server_event(connection: Connection, event_type: ServerNews, told: Preemption, now: datetime) -> None:
    """Record an event of a preemptible server, for its project (feature K1).

    It names no lease and no host: the project must not learn who gets its room, or where its server runs.
    """
    payload = {
        "server_id": told.server_id,
        "server_name": told.server_name,
        "project_id": told.project_id,
        "ends_at": told.ends_at.isoformat(),
    }
    row = {"lease_id": "", "project_id": told.project_id, "event_type": event_type}
    connection.execute(insert(outbox), {**row, "payload": payload, "created_at": now})


def _described(resource: Resource) -> dict[str, Any]:
    return {
        "id": resource.id,
        "resource_type": resource.type,
        "name": resource.label,
        "properties": dict(resource.properties),
        "reservable": resource.reservable,
        "health": resource.health,
        "disabled": resource.disabled,
        "disabled_reason": resource.disabled_reason,
    }
