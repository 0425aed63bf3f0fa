"""How addresses are enrolled: outside the pools from which the cloud itself assigns (contract resources §5)."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

from pydantic import Field

from leasehold.model.errors import InUseError, InvalidInputError, NotFoundError
from leasehold.resource_types.enrolment import Discovery
from leasehold.resource_types.fields import Identifier, RequestBody

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from leasehold.cloud.ports import Cloud, Network, Subnet


class FloatingIpDescription(RequestBody):
    """An address of an external network."""

    floating_network_id: Identifier
    floating_ip_address: Annotated[str, Field(min_length=1, max_length=64)]


def discover(cloud: Cloud, network_id: str, address: str) -> Discovery:
    """Return an address of a network.

    Raises InvalidInputError for a bad address, an unknown network, or an address inside an allocation pool or equal
    to the gateway; NotFoundError when no subnet contains it; InUseError when a port has it that is no floating IP's.
    """
    try:
        wanted = ip_address(address)
    except ValueError:
        message = f"{address[:60]!r} is not an IPv4 or IPv6 address."
        raise InvalidInputError(message, field="floating_ip_address") from None
    network = cloud.networks.get(network_id)
    if network is None:
        message = f"There is no network {network_id[:80]!r}; list the cloud's external networks to find its id."
        raise InvalidInputError(message, field="floating_network_id")
    subnet = _subnet(network, wanted)
    if cloud.networks.ports_at(network_id, [str(wanted)]):
        what = "something that is no floating IP, such as the gateway of a router or a port of a server"
        message = f"The address {wanted} is in use in this network by {what}; free it there, or choose another."
        raise InUseError(message, field="floating_ip_address")
    attributes = {
        "floating_network_id": network_id,
        "subnet_id": subnet.id,
        "floating_ip_address": str(wanted),
    }
    return Discovery(str(uuid4()), f"{subnet.id}/{wanted}", attributes)


def _subnet(network: Network, address: IPv4Address | IPv6Address) -> Subnet:
    subnet = next((each for each in network.subnets if address in ip_network(each.cidr)), None)
    if subnet is None:
        raise NotFoundError("floating_ip_address", str(address))
    if subnet.gateway is not None and address == ip_address(subnet.gateway):
        message = f"The address {address} is the gateway of subnet {subnet.cidr}; choose another."
        raise InvalidInputError(message, field="floating_ip_address")
    for first, last in subnet.allocation_pools:
        if ip_address(first) <= address <= ip_address(last):  # type: ignore[operator]  # A subnet holds one IP version.
            message = f"The cloud hands out {first} to {last} itself; choose an address outside, or shrink that pool."
            raise InvalidInputError(message, field="floating_ip_address")
    return subnet
