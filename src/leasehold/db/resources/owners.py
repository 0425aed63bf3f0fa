"""Whose a thing in the cloud is: reservations and resources, existing or removed, that it is named after."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, or_, select

from leasehold.db.dialects import rows_among
from leasehold.db.tables import allocations, leases, reservations, resources
from leasehold.model.states import ReservationStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Owner:
    """The lease that a reservation belongs to, and whether the reservation is over for good."""

    lease_id: str
    over: bool


def types_reserved(connection: Connection) -> list[str]:
    """Return the resource types of all reservations, past ones included."""
    return sorted(connection.execute(select(reservations.c.resource_type).distinct()).scalars())


def owners(connection: Connection, reservation_ids: Collection[str]) -> dict[str, Owner]:
    """Return the owners of these reservations by id, also of deleted ones; unknown ids are left out."""
    query = select(reservations.c.id, reservations.c.lease_id, reservations.c.status, leases.c.deleted_at).join(leases)
    return {
        row.id: Owner(row.lease_id, row.deleted_at is not None or row.status == ReservationStatus.DELETED)
        for row in rows_among(connection, query, reservations.c.id, reservation_ids)
    }


@dataclass(frozen=True, slots=True)
class Holders:
    """Projects that have a resource (`present`), and those that had it until it was released (`former`)."""

    present: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()


def holders(connection: Connection, numbers: Collection[int], now: datetime) -> dict[int, Holders]:
    """Return the holders of each of these resources, ignoring allocations released before they began, or purged."""
    query = select(allocations.c.resource_number, allocations.c.released_at, leases.c.project_id)
    query = query.join(leases, leases.c.id == allocations.c.lease_id)
    begun = and_(allocations.c.starts_at <= to_seconds(now), allocations.c.ends_at > allocations.c.starts_at)
    query = query.where(or_(begun, allocations.c.released_at.is_(None)))
    present: dict[int, set[str]] = defaultdict(set)
    former: dict[int, set[str]] = defaultdict(set)
    for row in rows_among(connection, query, allocations.c.resource_number, numbers):
        (present if row.released_at is None else former)[row.resource_number].add(row.project_id)
    return {
        number: Holders(frozenset(present[number]), frozenset(former[number] - present[number])) for number in numbers
    }


def removed_resources(connection: Connection, resource_type: str) -> dict[str, Mapping[str, Any]]:
    """Return the attributes of the resources of a type that are no longer enrolled, by their ids."""
    query = select(resources.c.id, resources.c.alive, resources.c.attributes).where(resources.c.type == resource_type)
    rows = connection.execute(query.order_by(resources.c.number)).all()
    enrolled = {row.id for row in rows if row.alive}
    return {row.id: row.attributes for row in rows if row.id not in enrolled}
