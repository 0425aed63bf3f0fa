"""Hide or show a property key (contract http-api §6.2), and say by what resources can be asked for (feature C2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from leasehold.db.resources import property as property_rows
from leasehold.leasing.sight import ALWAYS_IDENTIFYING, ALWAYS_PUBLIC
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import NotFoundError
from leasehold.model.properties import as_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.db.resources.property import PropertyDefinition
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.resource_types.kind import Kind

MOST_VALUES: Final = 100
"""The values of one property in an answer."""


@dataclass(frozen=True, slots=True)
class Askable:
    """A property or attribute that an expression may name, and the values it has now, of which `left_out` are missing.

    Numbers come before other texts, in their order.
    """

    name: str
    values: tuple[str, ...]
    left_out: int


def set_privacy(service: Service, resource_type: str, name: str, *, private: bool) -> PropertyDefinition:
    """Hide a key from users' discovery or show it again; raises NotFoundError for an unknown key."""

    def work(connection: Connection) -> PropertyDefinition | None:
        return property_rows.set_privacy(connection, resource_type, name, service.now(), private=private)

    definition = service.db.transact(work)
    if definition is None:
        raise NotFoundError("property_name", name)
    return definition


def askable(service: Service, caller: Caller, kind: Kind[Any], sight: Sight = EVERYTHING) -> list[Askable]:
    """Return by what the caller's leases can choose resources of this kind, by name.

    Left out is what tells a single resource from all others, what the caller must not see, and what resources for other
    projects alone have (decisions 0018, 0090).
    """
    kept_back = ALWAYS_IDENTIFYING | ALWAYS_PUBLIC | kind.identifying
    if not sight.private:
        with service.db.reading() as connection:
            kept_back |= property_rows.private_names(connection, [kind.resources])

    def look(snapshots: Mapping[str, Snapshot], _now: datetime) -> Mapping[str, list[str]]:
        return snapshots[kind.pool].eligible.for_project(caller.project_id).known_values()

    found = service.look([kind.pool], look, asks=True)
    return [_askable(name, found[name]) for name in sorted(found.keys() - kept_back)]


def _askable(name: str, values: Iterable[str]) -> Askable:
    ordered = sorted(values, key=_order)
    return Askable(name, tuple(ordered[:MOST_VALUES]), len(ordered[MOST_VALUES:]))


def _order(text: str) -> tuple[bool, float, str]:
    number = as_number(text)
    return number is None, 0 if number is None else number, text
