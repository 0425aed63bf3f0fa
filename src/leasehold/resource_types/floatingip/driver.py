"""The driver of `virtual:floatingip`: addresses in the project of the lease (contract resources §5)."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import HeldError, TakenError
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.capabilities import (
    Counting,
    Enrollable,
    MakingWay,
    Marking,
    Notified,
    Repairing,
    Retaining,
    Vacating,
)
from leasehold.resource_types.driver import Driver, ResourceUser, Wanted, mark_of
from leasehold.resource_types.floatingip.audit import TAG, audit_addresses, audit_ports, tagged_addresses
from leasehold.resource_types.floatingip.enrolment import FloatingIpDescription, discover
from leasehold.resource_types.floatingip.health import CHANGES, health_of
from leasehold.resource_types.floatingip.kind import FloatingIpRequest
from leasehold.resource_types.floatingip.late_addresses import place_of, remove_if_kept

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, CloudTransientError, FloatingIp
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.finding import Finding
    from leasehold.model.resource import Resource
    from leasehold.resource_types.capabilities import Place
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.enrolment import Discovery, Report
    from leasehold.resource_types.look import CloudObject, Look
    from leasehold.resource_types.records import Records

log = logging.getLogger(__name__)


class FloatingIpDriver(
    Driver[FloatingIpRequest], Enrollable, Notified, Repairing, Marking, MakingWay, Retaining, Vacating, Counting
):
    """Creates the addresses in the project at the start, and removes them at the end."""

    description = FloatingIpDescription

    def discover(self, cloud: Cloud, settings: CloudSettings, description: Mapping[str, Any]) -> Discovery:  # noqa: ARG002 - the driver's contract
        """Find the address `floating_ip_address` in the network `floating_network_id`."""
        return discover(cloud, description["floating_network_id"], description["floating_ip_address"])

    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:
        """Return which addresses can be leased: the cloud assigns them to nothing, and nothing has them unleased."""
        return health_of(cloud, resources, records)

    def concerns(self, event_type: str, payload: Mapping[str, Any]) -> bool:  # noqa: ARG002 - an id says little
        """Say so of floating IPs and routers that come and go, and of subnets whose allocation pools may be others."""
        return event_type in CHANGES

    def audit(self, look: Look) -> Iterable[Finding]:
        """Yield the enrolled addresses that a project, or something that is no floating IP, has without a lease."""
        return (*audit_addresses(look), *audit_ports(look))

    def repair(self, look: Look, resource: Resource) -> str | None:
        """Remove the address from a project whose lease of it is over."""
        found = look.cloud.networks.floating_ip(*place_of(resource))
        if found is None or not remove_if_kept(look.cloud, look.records, resource, found):
            return None
        return f"Removed: floating IP {found.address} of project {found.project_id}."

    def objects(self, look: Look) -> Iterable[CloudObject]:
        """Yield the addresses whose tags name a reservation."""
        return tagged_addresses(look)

    def remove(self, look: Look, thing: CloudObject) -> None:
        """Remove an address from its project."""
        look.cloud.networks.delete_floating_ip(thing.key)

    def converge(self, cloud: Cloud, job: Convergence[FloatingIpRequest], wanted: Wanted) -> Mapping[str, Any]:
        """Make the held addresses, and no others, exist in the project while active, and none afterwards."""
        if wanted is Wanted.PREPARED:
            return {}
        tag = mark_of(job.name)
        tagged = {_key(found): found for found in cloud.networks.list_floating_ips(tag)}
        there = {key: found for key, found in tagged.items() if found.project_id == job.project_id}
        holdings = job.holdings if wanted is Wanted.ACTIVE else ()
        due = {place_of(holding.resource): holding.resource.attributes for holding in holdings}
        # An address that failed stays with the project until the end, as servers on a failed host do.
        kept = {*due, *(place_of(holding.resource) for holding in job.left if wanted is Wanted.ACTIVE)}
        do_all(
            [
                *(partial(cloud.networks.delete_floating_ip, there[each].id) for each in sorted(there.keys() - kept)),
                *(partial(_obtain, cloud, job, due[each]) for each in sorted(due.keys() - there)),
                *(partial(_remove, cloud, job, key) for key in sorted(_over(job, wanted) - there.keys())),
            ]
        )
        return {}

    def uses(self, cloud: Cloud, job: Convergence[FloatingIpRequest]) -> Mapping[int, Collection[ResourceUser]]:
        """Return the port that has an address, if one has it."""
        there = {_key(found): found for found in cloud.networks.list_floating_ips(mark_of(job.name))}
        users: dict[int, list[ResourceUser]] = {}
        for held in job.holdings:
            found = there.get(place_of(held.resource))
            if found is not None and found.port_id is not None:
                users[held.allocation_id] = [ResourceUser(found.port_id, found.project_id)]
        return users

    def counted(self, cloud: Cloud, jobs: Sequence[Convergence[Any]]) -> Mapping[Place, int]:
        """Return 1 for each address that a port has; one listing for all of them."""
        attached = {_key(found) for found in cloud.networks.list_floating_ips(TAG) if found.port_id is not None}
        return {
            (job.name, held.resource.number): 1
            for job in jobs
            for held in job.holdings
            if place_of(held.resource) in attached
        }

    def occupied(self, cloud: Cloud, job: Convergence[FloatingIpRequest]) -> frozenset[int]:
        """Return the allocations of addresses that failed and that the project still has."""
        found = {held.allocation_id: cloud.networks.floating_ip(*place_of(held.resource)) for held in job.left}
        return frozenset(
            number for number, each in found.items() if each is not None and each.project_id == job.project_id
        )

    def make_way(
        self, cloud: Cloud, job: Convergence[FloatingIpRequest], error: CloudTransientError, records: Records
    ) -> None:
        """Remove the blocking address if its project kept it after a lease; otherwise log what has it."""
        if isinstance(error, TakenError):
            text = "Reservation %s waits for address %s, which port %s (%s) of network %s has: free it there"
            port = error.holder
            log.warning(text, job.name, port.address, port.id, port.owner or "no owner", port.network_id)
        if not isinstance(error, HeldError):
            return
        found = error.holder
        wanted = {place_of(holding.resource): holding.resource for holding in job.holdings}
        resource = wanted.get(_key(found))
        if resource is None or not remove_if_kept(cloud, records, resource, found):
            text = "Reservation %s waits for address %s, which project %s has without a lease: release it there"
            log.warning(text, job.name, found.address, found.project_id)


def _key(found: FloatingIp) -> tuple[str, str]:
    return found.network_id, found.address


def _over(job: Convergence[FloatingIpRequest], wanted: Wanted) -> set[tuple[str, str]]:
    """Return the network and address of each address that the reservation held and no longer holds."""
    over = {place_of(holding.resource) for holding in job.former}
    held = {place_of(holding.resource) for holding in job.holdings}
    left = {place_of(holding.resource) for holding in job.left}
    return over | held | left if wanted is Wanted.ENDED else over - held


def _obtain(cloud: Cloud, job: Convergence[FloatingIpRequest], where: Mapping[str, Any]) -> None:
    network, subnet, address = (where[key] for key in ("floating_network_id", "subnet_id", "floating_ip_address"))
    tags = frozenset({TAG, mark_of(job.name)})
    cloud.networks.create_floating_ip(network, subnet, address, job.project_id, tags)


def _remove(cloud: Cloud, job: Convergence[FloatingIpRequest], key: tuple[str, str]) -> None:
    """Remove an address from the lease's project, whatever its tags are.

    It was leased to the project, because the cloud itself never assigns an enrolled address.
    """
    found = cloud.networks.floating_ip(*key)
    if found is not None and found.project_id == job.project_id:
        cloud.networks.delete_floating_ip(found.id)
