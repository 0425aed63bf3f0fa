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
    from leasehold.model.event_log import ResourceNews
    from leasehold.model.lease import Lease
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


def put_project_event(
    connection: Connection, event_type: str, project_id: str, payload: Mapping[str, Any], now: datetime
) -> None:
    """Record an event that is about no lease and no resource, for this project."""
    row = {"lease_id": "", "project_id": project_id, "event_type": event_type}
    connection.execute(_INSERT, {**row, "payload": payload, "created_at": now})


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
