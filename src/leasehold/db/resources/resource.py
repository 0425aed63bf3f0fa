"""Resources in the database, with their properties: those enrolled, and those changed since a generation."""

from __future__ import annotations

from datetime import timedelta
from json import dumps
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, bindparam, case, cast, delete, func, insert, null, select, union_all, update

from leasehold.db.dialects import AfterSlash, JsonText
from leasehold.db.engine import region_of
from leasehold.db.paging import Listed
from leasehold.db.tables import resource_properties, resources
from leasehold.model.membership import Membership
from leasehold.model.paging import WHOLE, PageRequest
from leasehold.model.resource import Health, Readiness, Resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import BindParameter, ColumnElement, Connection, Row, Select

_BY_POOL = (
    select(resources)
    .where(resources.c.pool == bindparam("pool"), resources.c.generation > bindparam("since"))
    .order_by(resources.c.number)
)
_PROPERTIES_BY_POOL = (
    select(resource_properties)
    .join(resources, resources.c.number == resource_properties.c.resource_number)
    .where(resources.c.pool == bindparam("pool"), resources.c.generation > bindparam("since"))
)

_NUMBERS: BindParameter[int] = bindparam("numbers", expanding=True)
_NOTHING: list[Any] = [null() for column in resources.c if column.name != "number"]
_BY_NUMBER = union_all(
    select(resources, null().label("name"), null().label("value")).where(resources.c.number.in_(_NUMBERS)),
    select(
        resource_properties.c.resource_number, *_NOTHING, resource_properties.c.name, resource_properties.c.value
    ).where(resource_properties.c.resource_number.in_(_NUMBERS)),
)
"""Resources, and their properties as rows that have nothing else than a number."""
_ATTRIBUTES = resources.c.attributes
_MEMBERSHIP = func.coalesce(resources.c.membership, Membership.RESERVATION)
_DISABLED = resources.c.disabled.is_(True)
_UNCHECKED = case((resources.c.reservable, Health.HEALTHY), else_=Health.DISABLED)
_TEXTS = (
    *("hypervisor_hostname", "hypervisor_type", "availability_zone"),
    *("floating_ip_address", "floating_network_id", "subnet_id"),
)
_SHOWN: Mapping[str, ColumnElement[Any]] = {
    "name": func.coalesce(func.nullif(AfterSlash(resources.c.reference), ""), resources.c.id),
    "resource_type": resources.c.type,
    "health": func.coalesce(resources.c.health, _UNCHECKED),
    "pool": _MEMBERSHIP,
    "disabled": _DISABLED,
    "reservable": resources.c.reservable & _MEMBERSHIP.in_([Membership.RESERVATION]) & ~_DISABLED,
    **{key: _ATTRIBUTES[key].as_string() for key in _TEXTS},
    **{key: cast(_ATTRIBUTES[key].as_string(), BigInteger) for key in ("vcpus", "memory_mb", "local_gb")},
}
_LISTED = Listed(resources, _SHOWN, (resources.c.number,))
_SAME = (
    *("number", "id", "type", "pool", "capacity", "max_unit", "attributes", "reference", "owner", "held_for"),
    *("down_since", "changed_at", "created_at", "updated_at", "deleted_at", "disabled_reason"),
    *("membership_since", "membership_reason"),
)
"""The columns of a resource that are its fields as they are."""


def _resource(row: Row[Any], properties: Mapping[str, str], region: str | None) -> Resource:
    return Resource(
        **{name: getattr(row, name) for name in _SAME},
        properties=properties,
        traits=frozenset(row.traits),
        admitted=row.reservable,
        health=_health(row),
        disabled=bool(row.disabled),
        membership=Membership(row.membership or Membership.RESERVATION),
        projects=None if row.projects is None else frozenset(row.projects),
        region=region,
        readiness=_readiness(row),
    )


def _readiness(row: Row[Any]) -> Readiness | None:
    return None if row.waking_seconds is None else Readiness(timedelta(seconds=row.waking_seconds), row.waking_since)


def _health(row: Row[Any]) -> Health:
    """Return the health of a row; a row not checked since the column was added has only `reservable`."""
    if row.health is None:
        return Health.HEALTHY if row.reservable else Health.DISABLED
    return Health(row.health)


def _assemble(connection: Connection, rows: Iterable[Row[Any]], properties: Iterable[Row[Any]]) -> list[Resource]:
    by_number: dict[int, dict[str, str]] = {}
    region = region_of(connection)
    for entry in properties:
        by_number.setdefault(entry.resource_number, {})[entry.name] = entry.value
    return [_resource(row, by_number.get(row.number, {}), region) for row in rows]


def changed_resources(connection: Connection, pool: str, since: int) -> list[Resource]:
    """Return the pool's resources that changed after a generation, removed ones included; two statements at most."""
    parameters = {"pool": pool, "since": since}
    rows = connection.execute(_BY_POOL, parameters).all()
    if not rows:
        return []
    return _assemble(connection, rows, connection.execute(_PROPERTIES_BY_POOL, parameters))


def _enrolled(resource_type: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return resources.c.type == resource_type, resources.c.alive == 1


def list_resources(
    connection: Connection, resource_type: str, part: PageRequest = WHOLE, *, closed_to: str | None = None
) -> list[Resource]:
    """Return a part of the enrolled resources of a type, in the order of their enrolment.

    With `closed_to` without those that other projects than this one alone may use.
    """
    which = [*_enrolled(resource_type)]
    if closed_to is not None:
        named = JsonText(resources.c.projects).contains(dumps(closed_to), autoescape=True)
        which.append(resources.c.projects.is_(None) | named)
    rows = _LISTED.rows(connection, part, *which)
    if part.limit is not None:
        found = resources_by_number(connection, [row.number for row in rows])
        return [found[row.number] for row in rows]
    of_type = (
        select(resource_properties)
        .join(resources, resources.c.number == resource_properties.c.resource_number)
        .where(*_enrolled(resource_type))
    )
    return _assemble(connection, rows, connection.execute(of_type)) if rows else []


def enrolled_types(connection: Connection) -> list[str]:
    """Return the types of the enrolled resources."""
    return sorted(connection.execute(select(resources.c.type).where(resources.c.alive == 1).distinct()).scalars())


def failed_resources(connection: Connection) -> dict[int, str]:
    """Return the pool of each enrolled resource that has failed, by number."""
    query = select(resources.c.number, resources.c.pool).where(
        resources.c.alive == 1, resources.c.health == Health.FAILED
    )
    return dict(connection.execute(query).all())


def changed_in_the_cloud(connection: Connection) -> dict[int, datetime]:
    """Return by number when the cloud was found to say something else of enrolled resources."""
    query = select(resources.c.number, resources.c.changed_at)
    return dict(connection.execute(query.where(resources.c.alive == 1, resources.c.changed_at.is_not(None))).all())


def all_fits(connection: Connection, number: int, changed_at: datetime) -> None:
    """Record that every allocation of a resource fits what it has since this change; a later change stays recorded."""
    mine = (resources.c.number == number, resources.c.changed_at == changed_at)
    connection.execute(update(resources).where(*mine).values(changed_at=None))


def sharing(
    connection: Connection, resource_type: str, attribute: str | None, values: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return id and reference of the enrolled resources with the same value of an attribute, oldest enrolment first.

    Without an attribute there are none, and nothing is asked.
    """
    if attribute is None:
        return []
    columns = (resources.c.id, resources.c.reference, resources.c.attributes)
    query = select(*columns).where(*_enrolled(resource_type)).order_by(resources.c.number)
    rows = connection.execute(query)
    return [(row.id, row.reference) for row in rows if row.attributes.get(attribute) == values[attribute]]


def closed_to(connection: Connection, resource_type: str, project_id: str) -> list[int]:
    """Return the numbers of the enrolled resources of a type that other projects alone may use."""
    query = select(resources.c.number, resources.c.projects)
    rows = connection.execute(query.where(*_enrolled(resource_type), resources.c.projects.is_not(None)))
    return [row.number for row in rows if project_id not in row.projects]


def owned_resources(connection: Connection, project_id: str | None, part: PageRequest = WHOLE) -> list[Resource]:
    """Return a part of the enrolled resources of all types that belong to a project, or with None to any.

    Without properties.
    """
    mine = resources.c.owner.is_not(None) if project_id is None else resources.c.owner == project_id
    return _assemble(connection, _LISTED.rows(connection, part, resources.c.alive == 1, mine), ())


def find_resource(connection: Connection, resource_type: str, ident: str) -> Resource | None:
    """Return the enrolled resource with this API id, or None."""
    return _one(connection, select(resources).where(*_enrolled(resource_type), resources.c.id == ident))


def last_resource(connection: Connection, resource_type: str, ident: str) -> Resource | None:
    """Return the resource with this API id, or else the last removed one that had it; None if there never was one."""
    query = select(resources).where(resources.c.type == resource_type, resources.c.id == ident)
    return _one(connection, query.order_by(resources.c.number.desc()).limit(1))


def resources_by_number(connection: Connection, numbers: Iterable[int]) -> dict[int, Resource]:
    """Return resources by their number, including those that were removed since."""
    wanted = sorted(set(numbers))
    if not wanted:
        return {}
    properties: dict[int, dict[str, str]] = {}
    found, region = [], region_of(connection)
    for row in connection.execute(_BY_NUMBER, {"numbers": wanted}):
        if row.name is None:
            found.append(row)
        else:
            properties.setdefault(row.number, {})[row.name] = row.value
    return {row.number: _resource(row, properties.get(row.number, {}), region) for row in found}


def _one(connection: Connection, query: Select[Any]) -> Resource | None:
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    properties = connection.execute(
        select(resource_properties).where(resource_properties.c.resource_number == row.number)
    )
    return _assemble(connection, [row], properties)[0]


def insert_resource(connection: Connection, values: Mapping[str, Any]) -> int:
    """Enrol a resource and return its number; IntegrityError when its id or reference is enrolled already."""
    result = connection.execute(insert(resources).values(alive=1, **values))
    key = result.inserted_primary_key
    if key is None:
        message = "The database did not return the key of a new resource."
        raise RuntimeError(message)
    return int(key[0])


def update_resources(connection: Connection, numbers: Sequence[int], generation: int, **values: Any) -> None:
    """Change columns of resources and set their generation, so that every calendar loads them again."""
    connection.execute(update(resources).where(resources.c.number.in_(numbers)).values(generation=generation, **values))


def remove_resource(connection: Connection, number: int, generation: int, now: datetime) -> None:
    """Take a resource out of service; its row stays for history."""
    update_resources(connection, [number], generation, alive=None, deleted_at=now, reservable=False)


def put_properties(connection: Connection, number: int, properties: Mapping[str, str | None]) -> None:
    """Set properties of a resource, and remove those whose value is None; all others stay."""
    if not properties:
        return
    connection.execute(
        delete(resource_properties).where(
            resource_properties.c.resource_number == number, resource_properties.c.name.in_(list(properties))
        )
    )
    rows = [
        {"resource_number": number, "name": name, "value": value}
        for name, value in properties.items()
        if value is not None
    ]
    if rows:
        connection.execute(insert(resource_properties), rows)
