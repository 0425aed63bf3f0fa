"""The outbox: notifications in order, each written in the transaction that caused it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from leasehold.db.tables import outbox

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.lease import Lease


def put_event(connection: Connection, event_type: str, lease: Lease, now: datetime) -> None:
    """Record an event of a lease, with the lease's state after it (contract lifecycle §9)."""
    connection.execute(
        insert(outbox),
        {
            "lease_id": lease.id,
            "project_id": lease.project_id,
            "event_type": event_type,
            "payload": _payload(lease),
            "created_at": now,
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
            {"id": part.id, "resource_type": part.resource_type, "status": part.status} for part in lease.reservations
        ],
        "events": [{"id": event.id, "event_type": event.type, "status": event.status} for event in lease.events],
    }
