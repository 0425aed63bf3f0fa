"""Property definitions in the database: which keys exist, who may see them, which values they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import insert, select, update

from leasehold.db.tables import property_definitions, resource_properties, resources

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class PropertyDefinition:
    """One property key of a resource type; a private one is hidden from users' discovery, not from filters."""

    id: str
    resource_type: str
    name: str
    private: bool
    created_at: datetime
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class PropertyValues:
    """A property key with the distinct values it has on enrolled resources."""

    name: str
    private: bool
    values: tuple[str, ...]


def define_properties(connection: Connection, resource_type: str, names: Iterable[str], now: datetime) -> None:
    """Make sure that the keys are defined; a new one is public."""
    wanted = set(names)
    if not wanted:
        return
    known = connection.execute(
        select(property_definitions.c.name).where(property_definitions.c.resource_type == resource_type)
    ).scalars()
    rows = [
        {"id": str(uuid4()), "resource_type": resource_type, "name": name, "private": False, "created_at": now}
        for name in sorted(wanted - set(known))
    ]
    if rows:
        connection.execute(insert(property_definitions), rows)


def set_privacy(
    connection: Connection, resource_type: str, name: str, now: datetime, *, private: bool
) -> PropertyDefinition | None:
    """Make a key private or public and return its definition; None when there is no such key."""
    which = (property_definitions.c.resource_type == resource_type) & (property_definitions.c.name == name)
    connection.execute(update(property_definitions).where(which).values(private=private, updated_at=now))
    row = connection.execute(select(property_definitions).where(which)).one_or_none()
    return None if row is None else PropertyDefinition(*row)


def private_names(connection: Connection, resource_types: Collection[str]) -> frozenset[str]:
    """Return the private keys of these resource types, including those that no resource has now."""
    return frozenset(name for _, name in private_keys(connection, resource_types))


def private_keys(connection: Connection, resource_types: Collection[str]) -> frozenset[tuple[str, str]]:
    """Return the private keys as `private_names` does, each after its resource type."""
    query = select(property_definitions.c.resource_type, property_definitions.c.name).where(
        property_definitions.c.resource_type.in_(sorted(resource_types)), property_definitions.c.private
    )
    return frozenset((row.resource_type, row.name) for row in connection.execute(query))


def list_properties(
    connection: Connection, resource_type: str, *, include_private: bool, but: Collection[int] = ()
) -> list[PropertyValues]:
    """Return the keys that some enrolled resource has, by name, with their distinct values.

    The resources with the numbers `but` are left out.
    """
    query = (
        select(property_definitions.c.name, property_definitions.c.private, resource_properties.c.value)
        .join(resource_properties, resource_properties.c.name == property_definitions.c.name)
        .join(resources, resources.c.number == resource_properties.c.resource_number)
        .where(property_definitions.c.resource_type == resource_type, resources.c.type == resource_type)
        .where(resources.c.alive == 1)
        .distinct()
    )
    if but:
        query = query.where(resources.c.number.not_in(but))
    if not include_private:
        query = query.where(property_definitions.c.private.is_(False))
    found: dict[tuple[str, bool], set[str]] = {}
    for row in connection.execute(query):
        found.setdefault((row.name, row.private), set()).add(row.value)
    return [PropertyValues(name, private, tuple(sorted(values))) for (name, private), values in sorted(found.items())]
