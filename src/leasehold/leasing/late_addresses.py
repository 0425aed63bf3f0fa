"""Addresses that the project of a lease that is over has kept, so that the next lease of them cannot start.

An address that is enrolled is never handed out by the cloud itself. So where a project had it by a lease, has no lease
of it now, and still has it, it is certain that it was not given back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.db.audit import Holders, holders
from leasehold.db.resource import find_resource
from leasehold.model.resource import FLOATING_IP

if TYPE_CHECKING:
    from leasehold.cloud.ports import FloatingIp
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.base import Job

log = logging.getLogger(__name__)


def free_for(service: Service, job: Job, held: FloatingIp) -> bool:
    """Remove an address that stands in the way of a reservation, if a lease that is over has left it there.

    Returns whether it was removed; if not, the log names the project for the operator. Raises CloudError.
    """
    places = {_place(holding.resource): holding.resource for holding in job.holdings}
    resource = places.get((held.network_id, held.address))
    if resource is not None and _remove(service, resource, held):
        return True
    text = "Reservation %s waits for address %s, which project %s has; no lease says so"
    log.warning(text, job.name, held.address, held.project_id)
    return False


def free_address(service: Service, ident: str) -> str | None:
    """Remove an enrolled address that a lease which is over has left in its project, and say so; None: it is not."""
    with service.db.reading() as connection:
        resource = find_resource(connection, FLOATING_IP, ident)
    held = service.cloud.networks.floating_ip(*_place(resource)) if resource is not None else None
    if resource is None or held is None or not _remove(service, resource, held):
        return None
    return f"Removed: floating IP {held.address} of project {held.project_id}."


def _remove(service: Service, resource: Resource, held: FloatingIp) -> bool:
    with service.db.reading() as connection:
        known = holders(connection, {resource.number}, service.now()).get(resource.number, Holders())
    if held.project_id not in known.former:
        return False
    log.warning("Address %s is removed from project %s, whose lease of it is over", held.address, held.project_id)
    service.cloud.networks.delete_floating_ip(held.id)
    return True


def _place(resource: Resource) -> tuple[str, str]:
    return resource.attributes["floating_network_id"], resource.attributes["floating_ip_address"]
