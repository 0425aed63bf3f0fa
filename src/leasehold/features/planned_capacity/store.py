"""Changes of capacity, the hosts that are planned for them, and the leases that hold hosts for them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, Column, Integer, String, Text, delete, insert, select, update

from leasehold.db.resources.resource import resources_by_number
from leasehold.db.tables import resources, table
from leasehold.db.types import UtcDateTime
from leasehold.features.planned_capacity.model import Change, ChangeKind, Hold, PlannedHost
from leasehold.model.resource import Health

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

changes = table(
    "capacity_changes",
    Column("id", String(36), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("name", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("starts_at", UtcDateTime, nullable=False),
    Column("first_at", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime),
    Column("delays", Integer, nullable=False),
    Column("promise", Boolean, nullable=False),
    Column("amount", Integer),
    Column("percent", Integer),
    Column("resource_properties", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
)
planned_hosts = table(
    "planned_hosts",
    Column("resource_number", BigInteger, primary_key=True, autoincrement=False),
    Column("change_id", String(36), nullable=False, index=True),
    Column("failure", String(500)),
)
holds = table(
    "capacity_holds",
    Column("lease_id", String(36), primary_key=True),
    Column("change_id", String(36), nullable=False, index=True),
    Column("resource_number", BigInteger),
)
LONGEST_FAILURE = 500


def add_change(connection: Connection, change: Change) -> None:
    """Write a new change."""
    connection.execute(insert(changes), asdict(change))


def write_change(connection: Connection, ident: str, **values: Any) -> None:
    """Write what has become another of a change."""
    connection.execute(update(changes).where(changes.c.id == ident).values(**values))


def read_changes(connection: Connection, ident: str | None = None) -> list[Change]:
    """Return all changes by their date, or the one with this id."""
    query = select(changes).order_by(changes.c.starts_at, changes.c.id)
    if ident is not None:
        query = query.where(changes.c.id == ident)
    return [Change(**{**row, "kind": ChangeKind(row["kind"])}) for row in connection.execute(query).mappings()]


def forget_change(connection: Connection, ident: str) -> None:
    """Remove a change, and which hosts and holds it had."""
    connection.execute(delete(planned_hosts).where(planned_hosts.c.change_id == ident))
    connection.execute(delete(holds).where(holds.c.change_id == ident))
    connection.execute(delete(changes).where(changes.c.id == ident))


def add_planned(connection: Connection, ident: str, numbers: Sequence[int]) -> None:
    """Write that these resources are planned by a change."""
    connection.execute(insert(planned_hosts), [{"resource_number": each, "change_id": ident} for each in numbers])


def write_failure(connection: Connection, number: int, failure: str | None) -> None:
    """Write why a planned host could not be enrolled."""
    text = None if failure is None else failure[:LONGEST_FAILURE]
    connection.execute(update(planned_hosts).where(planned_hosts.c.resource_number == number).values(failure=text))


def planned_of(connection: Connection) -> Mapping[str, Sequence[PlannedHost]]:
    """Return the planned hosts of each change by its id, those that have arrived as well; removed ones are left out."""
    rows = connection.execute(select(planned_hosts).order_by(planned_hosts.c.resource_number)).all()
    there = resources_by_number(connection, [row.resource_number for row in rows])
    found: dict[str, list[PlannedHost]] = {}
    for row in rows:
        resource = there.get(row.resource_number)
        if resource is not None and resource.deleted_at is None:
            found.setdefault(row.change_id, []).append(PlannedHost(resource, row.failure))
    return found


def enrolled_names(connection: Connection, resource_type: str, names: Sequence[str]) -> list[str]:
    """Return which of these names enrolled resources have."""
    mine = (resources.c.type == resource_type, resources.c.alive == 1, resources.c.reference.in_(names))
    return sorted(connection.execute(select(resources.c.reference).where(*mine)).scalars())


def any_planned(connection: Connection) -> bool:
    """Say whether there is any change of capacity."""
    return connection.execute(select(changes.c.id).limit(1)).first() is not None


def add_hold(connection: Connection, hold: Hold) -> None:
    """Write that a lease holds hosts for a change."""
    connection.execute(insert(holds), asdict(hold))


def forget_hold(connection: Connection, lease_id: str) -> None:
    """Remove a hold."""
    connection.execute(delete(holds).where(holds.c.lease_id == lease_id))


def holds_of(connection: Connection) -> Mapping[str, Sequence[Hold]]:
    """Return the holds of each change by its id."""
    found: dict[str, list[Hold]] = {}
    for row in connection.execute(select(holds).order_by(holds.c.resource_number, holds.c.lease_id)).mappings():
        found.setdefault(row["change_id"], []).append(Hold(**row))
    return found


def values_of(planned: datetime, *, promise: bool) -> Mapping[str, Any]:
    """Return the columns of a resource that is expected at a moment, and promised before that if they say so."""
    return {"health": Health.PLANNED, "waking_seconds": 0, "waking_since": planned, "reservable": promise}
