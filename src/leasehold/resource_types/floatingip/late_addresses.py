"""Leftover addresses: a project still has them after its lease, so that the next lease of them cannot start.

The cloud itself never assigns an enrolled address. So if a project once leased an address, has no lease of it now, and
still has it, the address certainly was not removed after the lease.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud, FloatingIp
    from leasehold.model.resource import Resource
    from leasehold.resource_types.records import Records

log = logging.getLogger(__name__)


def place_of(resource: Resource) -> tuple[str, str]:
    """Return the network and the address of an enrolled address, which a tenant cannot change, unlike its tags."""
    return resource.attributes["floating_network_id"], resource.attributes["floating_ip_address"]


def remove_if_kept(cloud: Cloud, records: Records, resource: Resource, found: FloatingIp) -> bool:
    """Remove an enrolled address from a project whose lease of it is over; return whether it did. Raises CloudError."""
    if not records.has_given_up(resource.number, found.project_id):
        return False
    log.warning("Address %s is removed from project %s, whose lease of it is over", found.address, found.project_id)
    cloud.networks.delete_floating_ip(found.id)
    return True
