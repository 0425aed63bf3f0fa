"""States of leases as JSON (feature L9, decision 0084).

The state of a lease after a change is in the event of the change, or in `lease_states` if nobody is told of the change.
It is complete but for the allocations, which segments record.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from leasehold.db.columns.facts import read_facts
from leasehold.db.columns.lease_columns import LEASE, RESERVATION, fields_of, state_of
from leasehold.db.tables import lease_states
from leasehold.db.types import read_moment
from leasehold.model.actor import actor_of
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, LeaseStatus, ReservationStatus
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection

WHOLE = "whole"
"""The key of a state that says all of its lease; states that older versions wrote do not have it."""
ACTOR = "by"


def keep_states(connection: Connection, changed: Collection[Lease]) -> None:
    """Write the states of leases that were just changed, and of which no event tells. Takes one statement at most."""
    rows = [
        {
            "lease_id": lease.id,
            "generation": lease.generation,
            "changed_at": lease.updated_at or lease.created_at,
            "payload": describe(lease),
            "lease_state": rest_of(lease, None),
        }
        for lease in changed
    ]
    if rows:
        connection.execute(insert(lease_states), rows)


def describe(lease: Lease) -> dict[str, Any]:
    """Return what everybody is told of a lease (contract lifecycle §9)."""
    return {
        "lease_id": lease.id,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "trust_id": None,
        "name": lease.name,
        **({} if lease.purpose is None else {"purpose": lease.purpose}),
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


def rest_of(lease: Lease, event_type: str | None) -> dict[str, Any]:
    """Return what `describe` does not say of the lease, so that `lease_of` finds all of it; nothing twice.

    And who has asked for the change, which has this event; None if nobody is told of it.
    """
    actor = actor_of(lease.id, event_type)
    return {
        **({} if actor is None else {ACTOR: {"user_id": actor.user_id, "project_id": actor.project_id}}),
        WHOLE: state_of(LEASE, lease),
        **_moments(created_at=lease.created_at, updated_at=lease.updated_at),
        "reservations": [{**state_of(RESERVATION, part), **_stamps(part, lease)} for part in lease.reservations],
        "events": [{**_moments(time=event.time), **_stamps(event, lease)} for event in lease.events],
    }


def _stamps(part: Reservation | Event, lease: Lease) -> dict[str, str]:
    """Return when a part was made, unless that was with its lease, and changed."""
    made = None if part.created_at == lease.created_at else part.created_at
    return _moments(created_at=made, updated_at=part.updated_at)


def _moments(**moments: datetime | None) -> dict[str, str]:
    return {name: moment.isoformat() for name, moment in moments.items() if moment is not None}


def lease_of(payload: Mapping[str, Any], lease_state: Mapping[str, Any] | None, generation: int | None = None) -> Lease:
    """Return the lease of this state, which `describe` and `rest_of` wrote, without allocations.

    What an older version has not written down is empty, such as the request and the moments of its parts.
    """
    state = lease_state or {}
    parts, moments = payload["reservations"], payload["events"]
    return Lease(
        id=payload["lease_id"],
        name=payload["name"],
        purpose=payload.get("purpose"),
        user_id=payload["user_id"],
        project_id=payload["project_id"],
        window=Window(datetime.fromisoformat(payload["start_date"]), datetime.fromisoformat(payload["end_date"])),
        status=LeaseStatus(payload["status"]),
        degraded=payload["degraded"],
        generation=generation or 1,
        created_at=read_moment(state, "created_at"),
        updated_at=read_moment(state, "updated_at"),
        **fields_of(LEASE, state.get(WHOLE, {})),
        reservations=tuple(
            Reservation(
                id=shown["id"],
                lease_id=payload["lease_id"],
                resource_type=shown["resource_type"],
                status=ReservationStatus(shown["status"]),
                missing_resources=shown["missing_resources"],
                resources_changed=shown["resources_changed"],
                created_at=read_moment(kept, "created_at") or read_moment(state, "created_at"),
                updated_at=read_moment(kept, "updated_at"),
                **_decided({"resource_id": "", "request": {}, **fields_of(RESERVATION, kept)}),
            )
            for shown, kept in zip(parts, state.get("reservations") or [{}] * len(parts), strict=True)
        ),
        events=tuple(
            Event(
                id=shown["id"],
                lease_id=payload["lease_id"],
                type=shown["event_type"],
                time=read_moment(kept, "time"),
                status=None if shown["status"] is None else EventStatus(shown["status"]),
                created_at=read_moment(kept, "created_at") or read_moment(state, "created_at"),
                updated_at=read_moment(kept, "updated_at"),
            )
            for shown, kept in zip(moments, state.get("events") or [{}] * len(moments), strict=True)
        ),
    )


def _decided(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**fields, **read_facts(fields.get("cloud", {}))}
