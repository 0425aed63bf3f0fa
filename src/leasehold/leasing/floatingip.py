"""Enrol and remove floating IPs (contract resources §5, http-api §7)."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy.exc import IntegrityError

from leasehold.cloud.ports import CloudError
from leasehold.db.allocation import in_use
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.resource import find_resource, insert_resource, remove_resource
from leasehold.leasing.queries import get_resource
from leasehold.model.errors import CloudUnavailableError, DuplicateError, InUseError, InvalidInputError, NotFoundError
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Network, Subnet
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource


def enrol_floating_ip(service: Service, network_id: str, address: str) -> Resource:
    """Enrol an address of a network, outside the allocation pools from which the cloud itself assigns addresses.

    Raises InvalidInputError for a bad address, an unknown network, or an address inside an allocation pool or equal
    to the gateway; NotFoundError when no subnet contains it; DuplicateError when it is enrolled.
    """
    try:
        wanted = ip_address(address)
    except ValueError:
        message = f"{address[:60]!r} is not an IPv4 or IPv6 address."
        raise InvalidInputError(message, field="floating_ip_address") from None
    subnet = _subnet(_network(service, network_id), wanted)
    values: dict[str, Any] = {
        "id": str(uuid4()),
        "type": FLOATING_IP,
        "pool": FLOATING_IP_POOL,
        "reference": f"{subnet.id}/{wanted}",
        "capacity": {},
        "max_unit": {},
        "attributes": {
            "floating_network_id": network_id,
            "subnet_id": subnet.id,
            "floating_ip_address": str(wanted),
        },
        "traits": [],
        "reservable": True,
        "created_at": service.now(),
    }
    try:
        service.db.transact(lambda connection: _insert(connection, values))
    except IntegrityError:
        message = f"The address {wanted} is enrolled already."
        raise DuplicateError(message, field="floating_ip_address") from None
    return get_resource(service, FLOATING_IP, values["id"])


def _network(service: Service, network_id: str) -> Network:
    try:
        network = service.cloud.networks.get(network_id)
    except CloudError as error:
        message = f"The cloud cannot be asked about network {network_id} now: {error}. Try again later."
        raise CloudUnavailableError(message) from error
    if network is None:
        message = f"There is no network {network_id[:80]!r}; list the cloud's external networks to find its id."
        raise InvalidInputError(message, field="floating_network_id")
    return network


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


def _insert(connection: Connection, values: dict[str, Any]) -> None:
    generations = lock_pools(connection, {FLOATING_IP_POOL})
    insert_resource(connection, {**values, "generation": generations[FLOATING_IP_POOL] + 1})
    bump_pools(connection, generations)


def remove_floating_ip(service: Service, ident: str) -> None:
    """Take an address out of service; raises InUseError while it is allocated to a lease."""

    def work(connection: Connection) -> None:
        generations = lock_pools(connection, {FLOATING_IP_POOL})
        enrolled = find_resource(connection, FLOATING_IP, ident)
        if enrolled is None:
            raise NotFoundError("floatingip_id", ident)
        if in_use(connection, enrolled.number, service.now()):
            message = f"The address {enrolled.label} is allocated to leases; delete them or wait for their end."
            raise InUseError(message)
        remove_resource(connection, enrolled.number, generations[FLOATING_IP_POOL] + 1, service.now())
        bump_pools(connection, generations)

    service.db.transact(work)
