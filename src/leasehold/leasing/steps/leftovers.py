"""Remove what reservations that are over have left in the cloud.

Only objects of a reservation that is over in the database are removed: such a reservation never comes back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.observing import Observation
from leasehold.cloud.ports import CloudError
from leasehold.db.leases.lease import find_lease
from leasehold.db.resources.owners import owners, types_reserved
from leasehold.db.resources.resource import enrolled_types
from leasehold.db.task import LEASE
from leasehold.db.work import IDLE, work_of
from leasehold.resource_types.capabilities import Marking, Sparing
from leasehold.resource_types.look import Look
from leasehold.resource_types.records import Records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.resource_types.look import CloudObject
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)


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


def objects_of_ours(look: Look, types: Iterable[ResourceType]) -> Mapping[CloudObject, Marking]:
    """Return all cloud objects that have a reservation's name and our mark, each with a driver that knows it.

    A plugin that raises is logged, and leaves out only its own objects.
    """
    found: dict[CloudObject, Marking] = {}
    for type_, driver in ((each, each.driver) for each in types):
        if not isinstance(driver, Marking):
            continue
        try:
            # Instances and flavors have the same objects.
            found = dict.fromkeys(driver.objects(look), driver) | found
        except CloudError:
            raise
        except Exception:
            log.exception("A bug in %s: the objects of its reservations could not be listed", type_.name)
    return found


def remove_leftovers(service: Service, reservation_id: str) -> str | None:
    """Remove the cloud objects of a reservation that is over, unless servers use them: their owner may need them.

    Returns a sentence that says what was removed, or None if nothing may be removed. Raises CloudError.
    """

    def is_over(connection: Connection) -> bool:
        owner = owners(connection, {reservation_id}).get(reservation_id)
        if owner is None or not owner.over:
            return False
        # Lock the lease, so that no worker begins a step of it between the two checks.
        find_lease(connection, owner.lease_id, lock=True, gone=True)
        return not (work_of(connection, LEASE, owner.lease_id) or IDLE).busy(service.now())

    if not service.db.transact(is_over):
        return None
    look = look_at(service)
    found = objects_of_ours(look, audited_types(service)).items()
    things = {thing: driver for thing, driver in found if thing.reservation_id == reservation_id}
    if any(isinstance(driver, Sparing) and driver.in_use(look, thing) for thing, driver in things.items()):
        return None
    for thing, driver in things.items():
        driver.remove(look, thing)
    return f"Removed: {', '.join(map(str, things))}."
