"""How compute hosts are enrolled: found by name or id, and kept in the free pool while no lease has them.

Contract resources §1. Every call may be repeated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from leasehold.model.errors import InUseError, NotFoundError, SharedServiceHostError
from leasehold.model.membership import Membership
from leasehold.resource_types.capabilities import Enumerable, Exclusive, Placed, Surveyed
from leasehold.resource_types.enrolment import Discovery, Report
from leasehold.resource_types.fields import Identifier, RequestBody
from leasehold.resource_types.slots.hosts import members_of
from leasehold.resource_types.slots.names import child_provider

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Hypervisor, Inventory
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.resource import Resource


TASK = "host"
"""The kind of the task that keeps a host in its aggregate."""
DRAWS = "Leasehold draws this host into the reservation pool"
SLEEPS = "Leasehold has switched this host off until a lease needs it"
"""Why a compute service is disabled; only one with such a reason is enabled again."""


class HostDescription(RequestBody):
    """The exact hypervisor hostname, or the id of the hypervisor, and the pool; a shared host may have servers."""

    name: Identifier
    pool: Literal["reservation", "shared"] = "reservation"


SHARED = "service_name"
"""Aggregates contain compute services: all hypervisors of one (Ironic's nodes) would always be leased together."""


def said_servers(count: int) -> str:
    """Return how many servers there are, for a sentence."""
    return "1 server" if count == 1 else f"{count} servers"


def _in_its_own_zone(found: Discovery, resource: Resource, settings: CloudSettings) -> Discovery:
    """Return what was found with the zone as it was, where the zone is that of a lease.

    While a reservation has the host, Nova shows the zone of the reservation's aggregate, which says nothing about the
    host: others ask for the zone that it has when it is free.
    """
    prefix = settings.zone_prefix
    if not prefix or not str(found.attributes["availability_zone"]).startswith(prefix):
        return found
    before = {"availability_zone": resource.attributes.get("availability_zone", "")}
    return replace(found, attributes={**found.attributes, **before})


def _read(cloud: Cloud, settings: CloudSettings, host: Hypervisor, inventories: Mapping[str, Inventory]) -> Discovery:
    return Discovery(
        id=host.id,
        reference=host.hypervisor_hostname,
        attributes=attributes_of(host, settings),
        capacity=_capacity(host, inventories),
        max_unit={name: inventory.max_unit for name, inventory in inventories.items()},
        traits=frozenset(cloud.providers.traits(host.hypervisor_hostname)),
        report=report_of(host),
    )


def attributes_of(host: Hypervisor, settings: CloudSettings) -> dict[str, Any]:
    """Return the columns of v1's answer that the cloud knows (contract http-api §6)."""
    return {
        "hypervisor_hostname": host.hypervisor_hostname,
        "hypervisor_type": host.hypervisor_type,
        "hypervisor_version": host.hypervisor_version,
        "service_name": host.service_host,
        "vcpus": host.vcpus,
        "memory_mb": host.memory_mb,
        "local_gb": host.local_gb,
        "cpu_info": host.cpu_info,
        "availability_zone": host.zone if settings.zones else "",
        "status": None,
        "trust_id": None,
    }


def report_of(host: Hypervisor) -> Report:
    """Return how the hypervisor is; one that a draw has disabled is not in maintenance."""
    return Report(up=host.up, enabled=host.enabled or host.disabled_reason == DRAWS)


def _capacity(host: Hypervisor, inventories: Mapping[str, Inventory]) -> dict[str, int]:
    """Return what can be allocated: the capacity in Placement, or else the hypervisor's own figure."""
    raw = {"VCPU": host.vcpus, "MEMORY_MB": host.memory_mb, "DISK_GB": host.local_gb}
    return raw | {name: inventory.capacity for name, inventory in inventories.items()}


class HostEnrolment(Enumerable, Exclusive, Placed, Surveyed):
    """How hosts are found, and kept in the free pool while no lease has them."""

    description = HostDescription
    task = TASK
    shared = SHARED

    def discover(self, cloud: Cloud, settings: CloudSettings, description: Mapping[str, Any]) -> Discovery:
        """Find the hypervisor with the exact hostname or id `name`, for the `pool`.

        Raises NotFoundError, and for the reservation pool InUseError if it has servers.
        """
        reference, pool = description["name"], Membership(description.get("pool", Membership.RESERVATION))
        found = cloud.hypervisors.find(reference)
        if found is None:
            raise NotFoundError("host", reference)
        servers = cloud.servers.on_host(found.service_host) if pool is Membership.RESERVATION else ()
        if servers:
            message = (
                f"The host {reference} has {said_servers(len(servers))}; move or delete them before you enrol it, or "
                "enrol it with the pool `shared`, from microversion 1.2 on."
            )
            raise InUseError(message)
        host = _read(cloud, settings, found, cloud.providers.inventories(found.hypervisor_hostname))
        return replace(host, membership=pool)

    def candidates(self, cloud: Cloud, settings: CloudSettings, enrolled: Collection[str]) -> Sequence[Discovery]:
        """Return the hypervisors with other ids than these: one call, and one for their servers.

        Those that have servers are for the shared pool.
        """
        found = [each for each in cloud.hypervisors.list() if each.id not in enrolled]
        used = {each.service_host for each in cloud.servers.on_hosts({each.service_host for each in found})}
        return [
            Discovery(
                id=each.id,
                reference=each.hypervisor_hostname,
                attributes=attributes_of(each, settings),
                report=report_of(each),
                membership=Membership.SHARED if each.service_host in used else Membership.RESERVATION,
            )
            for each in found
        ]

    def discovered(
        self, cloud: Cloud, settings: CloudSettings, resources: Sequence[Resource]
    ) -> Mapping[int, Discovery]:
        """Return by number what enrolled hosts have now: two calls for each, and one for all.

        A host without inventories is left out: Placement forgets them while nova-compute is set up anew.
        """
        there = {each.hypervisor_hostname: each for each in cloud.hypervisors.list()}
        found = {}
        for each in resources:
            hypervisor = there.get(each.attributes["hypervisor_hostname"])
            inventories = {} if hypervisor is None else cloud.providers.inventories(hypervisor.hypervisor_hostname)
            if hypervisor is not None and inventories:
                found[each.number] = _in_its_own_zone(_read(cloud, settings, hypervisor, inventories), each, settings)
        return found

    def attributes_of(self, cloud: Cloud, settings: CloudSettings, ident: str) -> Mapping[str, Any] | None:
        """Return the attributes of the hypervisor with this id."""
        found = cloud.hypervisors.find(ident)
        return None if found is None else attributes_of(found, settings)

    def place(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any], *, leased: bool) -> None:
        """Make the host's provider, and put it into the free pool unless a lease has it."""
        self.give_provider(cloud, attributes)
        if not leased:
            self.into_free_pool(cloud, settings, attributes)

    def into_free_pool(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> None:
        """Put a host into the free pool, which is made where there is none, and release a claim that was left on it."""
        cloud.providers.release_claims(attributes["hypervisor_hostname"])
        cloud.aggregates.ensure(settings.freepool, None, {})
        cloud.aggregates.add_host(settings.freepool, attributes["service_name"])

    def give_provider(self, cloud: Cloud, attributes: Mapping[str, Any]) -> None:
        """Make the provider that carries our inventories of a host."""
        hostname = attributes["hypervisor_hostname"]
        cloud.providers.ensure_child(hostname, child_provider(hostname))

    def release(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any], *, alone: bool) -> None:
        """Drop the provider, and take the host out of the free pool unless another enrolled one shares its service."""
        if alone:
            cloud.aggregates.remove_host(settings.freepool, attributes["service_name"])
        cloud.providers.delete(child_provider(attributes["hypervisor_hostname"]))

    def is_leased(self, cloud: Cloud, attributes: Mapping[str, Any], reservation_ids: Collection[str]) -> bool:
        """Return whether the host is in the aggregate of one of these reservations."""
        return any(attributes["service_name"] in members_of(cloud, name) for name in reservation_ids)

    def users(self, cloud: Cloud, attributes: Mapping[str, Any]) -> str | None:
        """Return how many servers there are."""
        servers = cloud.servers.on_host(attributes["service_name"])
        return said_servers(len(servers)) if servers else None

    def shared_error(self, found: Discovery, other: str) -> SharedServiceHostError:
        """Return the refusal of a host whose compute service has an enrolled host, `other`."""
        message = (
            f"{found.reference} and the enrolled host {other} are behind one compute service, "
            f"{found.attributes[SHARED]}, and Nova's aggregates can only have both or neither. Give each hypervisor "
            "that is to be leased a nova-compute of its own, or remove the other host first."
        )
        return SharedServiceHostError(message)
