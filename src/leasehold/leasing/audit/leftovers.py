"""Find cloud objects of reservations that are over or unknown.

Only objects of a reservation that is over in the database are removed: such a reservation never comes back. Objects of
unknown reservations may belong to another installation, or date from before a restore of the database.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from leasehold.cloud.observing import Observation
from leasehold.cloud.ports import CloudError
from leasehold.db.audit import IDLE, owners, types_reserved, work_of
from leasehold.db.resource import enrolled_types
from leasehold.db.task import LEASE
from leasehold.model.finding import REPAIR, Finding, FindingKind, Mend
from leasehold.resource_types.look import Look
from leasehold.resource_types.records import Records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leasehold.leasing.service import Service
    from leasehold.resource_types.driver import Driver
    from leasehold.resource_types.look import CloudObject
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

_UNKNOWN = (
    "Another installation may use it, or it dates from before a restore of the database. If it is unused, remove it by "
    "hand."
)


def look_at(service: Service) -> Look:
    """Return a new look at the cloud, which has read nothing yet."""
    return Look(Observation(service.cloud), Records(service.db, service.now), service.settings.cloud)


def audited_types(service: Service) -> list[ResourceType]:
    """Return the types whose part of the cloud is audited: those switched on, and those with resources or reservations.

    A cloud without a network service has none of the latter; if it once had one, the operator sets `forgotten_plugins`.
    """
    with service.db.reading() as connection:
        used = {*enrolled_types(connection), *types_reserved(connection)}
    names = service.types.by_name.keys() | (used - set(service.settings.manager.forgotten_plugins))
    found = (service.types.find(name) for name in sorted(names))
    return [each for each in found if each is not None]


def audit_leftovers(service: Service, look: Look, types: Iterable[ResourceType]) -> Iterator[Finding]:
    """Yield a finding for each reservation that is over or unknown and has cloud objects; reads the cloud first."""
    things: dict[str, list[CloudObject]] = {}
    for thing in objects_of_ours(look, types):
        things.setdefault(thing.reservation_id, []).append(thing)
    now = service.now()
    with service.db.reading() as connection:
        known = owners(connection, things.keys())
        over = {ident: owner.lease_id for ident, owner in known.items() if owner.over}
        leases = sorted(set(over.values()))
        busy = {lease_id for lease_id in leases if (work_of(connection, LEASE, lease_id) or IDLE).busy(now)}
    for ident, found in sorted(things.items()):
        has = ", ".join(map(str, found))
        if ident not in known:
            what = f"The reservation {ident} is not in the database, but the cloud has: {has}."
            yield Finding(FindingKind.LEFTOVER, ident, what, _UNKNOWN)
        elif ident in over and over[ident] not in busy:
            what = f"The reservation {ident} of lease {over[ident]} is over, but the cloud still has: {has}."
            yield Finding(FindingKind.LEFTOVER, ident, what, REPAIR, Mend.REMOVAL)


def objects_of_ours(look: Look, types: Iterable[ResourceType]) -> Mapping[CloudObject, Driver[Any]]:
    """Return all cloud objects that have a reservation's name and our mark, each with a driver that knows it.

    A plugin that raises is logged, and leaves out only its own objects.
    """
    found: dict[CloudObject, Driver[Any]] = {}
    for type_ in types:
        try:
            # Instances and flavors have the same objects.
            found = dict.fromkeys(type_.driver.objects(look), type_.driver) | found
        except CloudError:
            raise
        except Exception:
            log.exception("A bug in %s: the objects of its reservations could not be listed", type_.name)
    return found
