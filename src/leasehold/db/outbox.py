"""The outbox: events, each written in the transaction that caused it; `db/event_log.py` puts them in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from leasehold.db import untold
from leasehold.db.lease_state import describe, rest_of
from leasehold.db.tables import outbox

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.together import Writer
    from leasehold.model.alarm import Alarm
    from leasehold.model.event_log import AlarmNews, ResourceNews, ServerNews
    from leasehold.model.lease import Lease
    from leasehold.model.preemption import Preemption
    from leasehold.model.resource import Resource


_INSERT = insert(outbox)


def put_event(
    connection: Writer, event_type: str, lease: Lease, now: datetime, more: Mapping[str, Any] | None = None
) -> None:
    """Record an event of a lease, with the lease's state after it (contract lifecycle §9), and `more` keys."""
    connection.execute(
        _INSERT,
        {
            "lease_id": lease.id,
            "project_id": lease.project_id,
            "event_type": event_type,
            "payload": {**describe(lease), **(more or {})},
            "created_at": now,
            "generation": lease.generation,
            "lease_state": rest_of(lease, event_type),
        },
    )
    untold.told(connection, lease)


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
        "projects": None if resource.projects is None else sorted(resource.projects),
        **({} if resource.owner is None else {"owner": resource.owner}),
    }
