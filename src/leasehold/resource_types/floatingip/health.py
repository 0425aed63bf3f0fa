"""Whether enrolled addresses can still be leased (feature B5, J2).

An address has failed when the cloud assigns it itself, because it is in an allocation pool now or its subnet is gone;
when a project has it that never leased it; and when something has it that is no floating IP, such as the gateway of a
router. Who leases an address is read from our own records: tenants can change the tags of their floating IPs.
"""

from __future__ import annotations

from collections import defaultdict
from ipaddress import ip_address
from typing import TYPE_CHECKING

from leasehold.resource_types.enrolment import Report
from leasehold.resource_types.floatingip.late_addresses import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, FloatingIp, Network, NetworkPort
    from leasehold.model.resource import Resource
    from leasehold.resource_types.records import Records

CHANGES = frozenset(
    {
        *("floatingip.create.end", "floatingip.delete.end", "subnet.update.end", "subnet.delete.end"),
        *("router.create.end", "router.update.end", "router.delete.end"),
    }
)
"""Neutron's notifications of what `health_of` looks at.

The project and the address of a floating IP never change, so its updates are of ports. A new subnet has a new id, and
overlaps with none of its network. An address whose network is gone keeps its state. The gateway of a router is told of
as a change of the router. Ports come and go with every server of the cloud, nearly all on other networks, so those that
take an address are left to polling.
"""


def health_of(cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:
    """Return by number whether addresses are up. Raises CloudError.

    An address whose network is not found is missing in the answer, and keeps its state. Three calls of the port for
    each network, whatever the number of addresses.
    """
    names = sorted({place_of(each)[0] for each in resources})
    networks = {name: network for name in names if (network := cloud.networks.get(name)) is not None}
    there = {(name, each.address): each for name in networks for each in cloud.networks.list_network(name)}
    known = {each.number: each for each in resources if place_of(each)[0] in networks}
    found = {number: there[place_of(each)] for number, each in known.items() if place_of(each) in there}
    lost = _with_strangers(found, records) | _taken(cloud, known)
    return {
        number: Report(up=number not in lost and _is_ours(networks[place_of(each)[0]], each))
        for number, each in known.items()
    }


def _taken(cloud: Cloud, resources: Mapping[int, Resource]) -> set[int]:
    """Return the addresses that something has which is no floating IP."""
    taken = {(each.network_id, each.address) for each in ports_at(cloud, resources.values())}
    return {number for number, each in resources.items() if place_of(each) in taken}


def ports_at(cloud: Cloud, resources: Iterable[Resource]) -> list[NetworkPort]:
    """Return the ports with these addresses that are no floating IP's; one call of the port for each network."""
    addresses: dict[str, set[str]] = defaultdict(set)
    for network, address in map(place_of, resources):
        addresses[network].add(address)
    return [port for network in sorted(addresses) for port in cloud.networks.ports_at(network, addresses[network])]


def _with_strangers(found: Mapping[int, FloatingIp], records: Records) -> set[int]:
    """Return the addresses that a project has without ever having leased them.

    One that a project kept after its lease is removed there before the next start (`late_addresses`).
    """
    holders = records.holders(found.keys()) if found else {}
    return {
        number
        for number, each in found.items()
        if each.project_id not in holders[number].present | holders[number].former
    }


def _is_ours(network: Network, resource: Resource) -> bool:
    """Return whether the address is in a subnet of the network, outside of its allocation pools and not its gateway."""
    address = ip_address(place_of(resource)[1])
    subnet = next((each for each in network.subnets if each.id == resource.attributes["subnet_id"]), None)
    if subnet is None or (subnet.gateway is not None and address == ip_address(subnet.gateway)):
        return False
    pools = ((ip_address(first), ip_address(last)) for first, last in subnet.allocation_pools)
    return not any(first <= address <= last for first, last in pools)  # type: ignore[operator]  # One IP version.
