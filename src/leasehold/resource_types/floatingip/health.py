"""Whether enrolled addresses can still be leased (feature B5, J2).

An address has failed when the cloud assigns it itself, because it is in an allocation pool now or its subnet is gone,
and when a project has it that never leased it. Who leases an address is read from our own records: tenants can change
the tags of their floating IPs.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from leasehold.resource_types.enrolment import Report
from leasehold.resource_types.floatingip.late_addresses import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud, FloatingIp, Network
    from leasehold.model.resource import Resource
    from leasehold.resource_types.records import Records

CHANGES = frozenset({"floatingip.create.end", "floatingip.delete.end", "subnet.update.end", "subnet.delete.end"})
"""Neutron's notifications of what `health_of` looks at.

The project and the address of a floating IP never change, so its updates are of ports. A new subnet has a new id, and
overlaps with none of its network. An address whose network is gone keeps its state.
"""


def health_of(cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:
    """Return by number whether addresses are up; two calls for each network. Raises CloudError.

    An address whose network is not found is missing in the answer, and keeps its state.
    """
    names = sorted({place_of(each)[0] for each in resources})
    networks = {name: network for name in names if (network := cloud.networks.get(name)) is not None}
    there = {(name, each.address): each for name in networks for each in cloud.networks.list_network(name)}
    known = {each.number: each for each in resources if place_of(each)[0] in networks}
    found = {number: there[place_of(each)] for number, each in known.items() if place_of(each) in there}
    strange = _with_strangers(found, records)
    return {
        number: Report(up=number not in strange and _is_ours(networks[place_of(each)[0]], each))
        for number, each in known.items()
    }


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
    """Return whether the address is in a subnet of the network and outside of its allocation pools."""
    address = ip_address(place_of(resource)[1])
    subnet = next((each for each in network.subnets if each.id == resource.attributes["subnet_id"]), None)
    if subnet is None:
        return False
    pools = ((ip_address(first), ip_address(last)) for first, last in subnet.allocation_pools)
    return not any(first <= address <= last for first, last in pools)  # type: ignore[operator]  # One IP version.
