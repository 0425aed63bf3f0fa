"""Neutron's networks and floating IPs."""

from __future__ import annotations

from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leasehold.cloud.ports import (
    RESERVATION_TAG,
    CloudConflictError,
    CloudTransientError,
    FloatingIp,
    HeldError,
    Network,
    NetworkPort,
    Subnet,
    TakenError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from leasehold.cloud.openstack.rest import ServiceClient

PATH = "/floatingips"
PORTS = "/ports"
FLOATING = "network:floatingip"
"""The owner of the port that Neutron makes for each floating IP, with the address of that floating IP."""
AT_ONCE = 64
"""How many addresses one call asks about: with IPv6 that is a URL of 5 kB, and servers refuse one of 8 kB."""


class OpenStackNetworks:
    """Implements `ports.Networks`. Paths are relative to v2.0, where the discovered endpoint leads."""

    def __init__(self, neutron: ServiceClient) -> None:
        self._neutron = neutron

    def get(self, network_id: str) -> Network | None:
        """Return the network with its subnets, or None."""
        call = "networks.get"
        path = f"/networks/{quote(network_id, safe='')}"
        found = self._neutron.get(call, path, none_on=(HTTPStatus.NOT_FOUND,))
        # An id that a user sends, such as "..", may lead to another resource of Neutron, without a network.
        if found is None or "network" not in found:
            return None
        rows = self._neutron.get(call, "/subnets", params={"network_id": network_id})["subnets"]
        return Network(network_id, found["network"]["name"], tuple(_read_subnet(row) for row in rows))

    def floating_ip(self, network_id: str, address: str) -> FloatingIp | None:
        """Return the floating IP that has this address now, or None."""
        return self._at("networks.floating_ip", network_id, address)

    def list_floating_ips(self, tag: str) -> Sequence[FloatingIp]:
        """Return the floating IPs that carry a tag."""
        return self._list("networks.list_floating_ips", {"tags": tag})

    def list_network(self, network_id: str) -> Sequence[FloatingIp]:
        """Return the floating IPs of a network, of every project."""
        return self._list("networks.list_network", {"floating_network_id": network_id})

    def ports_at(self, network_id: str, addresses: Collection[str]) -> Sequence[NetworkPort]:
        """Return who has these addresses of a network, other than floating IPs; one call for 64 addresses."""
        wanted = sorted({str(ip_address(each)) for each in addresses})
        return list(self._ports_at("networks.ports_at", network_id, wanted))

    def create_floating_ip(
        self, network_id: str, subnet_id: str, address: str, project_id: str, tags: frozenset[str]
    ) -> FloatingIp:
        """Create the floating IP with this address in a project; a second call sets the tags.

        Raises HeldError or TakenError when somebody else has the address, and CloudPermanentError when the address is
        not in that subnet of the network.
        """
        call = "networks.create_floating_ip"
        found = self._at(call, network_id, address)
        if found is None:
            found = self._create(call, network_id, subnet_id, address, project_id)
        if found.project_id != project_id:
            raise HeldError(found)
        wished = tags | {tag for tag in found.tags if not tag.startswith(RESERVATION_TAG)}
        if wished != found.tags:
            self._neutron.call(call, "PUT", f"{PATH}/{found.id}/tags", json={"tags": sorted(wished)})
            found = self._at(call, network_id, address)
        if found is None:
            raise CloudTransientError(f"neutron {call}: {address} was removed meanwhile")
        return found

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        """Disassociate and delete a floating IP."""
        path = f"{PATH}/{floating_ip_id}"
        self._neutron.call("networks.delete_floating_ip", "DELETE", path, fine=(HTTPStatus.NOT_FOUND,))

    def _create(self, call: str, network_id: str, subnet_id: str, address: str, project_id: str) -> FloatingIp:
        wanted = {"floating_network_id": network_id, "subnet_id": subnet_id, "floating_ip_address": address}
        body = {"floatingip": {**wanted, "project_id": project_id}}
        try:
            return _read(self._neutron.call(call, "POST", PATH, json=body).json()["floatingip"])
        except CloudConflictError as error:
            # Neutron says only that the address is allocated, or names something else, such as a quota.
            port = next(self._ports_at(call, network_id, [address]), None)
            if port is None:
                raise
            raise TakenError(port) from error

    def _ports_at(self, call: str, network_id: str, addresses: Sequence[str]) -> Iterator[NetworkPort]:
        fields = ["id", "fixed_ips", "device_owner"]
        for begin in range(0, len(addresses), AT_ONCE):
            some = addresses[begin : begin + AT_ONCE]
            filters = {"network_id": network_id, "fixed_ips": [f"ip_address={each}" for each in some], "fields": fields}
            for row in self._neutron.pages(call, PORTS, "ports", params=filters):
                if row["device_owner"] != FLOATING:
                    # A port may have addresses beside those that were asked about.
                    found = {str(ip_address(each["ip_address"])) for each in row["fixed_ips"]}.intersection(some)
                    yield from (NetworkPort(row["id"], network_id, each, row["device_owner"]) for each in sorted(found))

    def _at(self, call: str, network_id: str, address: str) -> FloatingIp | None:
        wanted = {"floating_network_id": network_id, "floating_ip_address": address}
        return next(iter(self._list(call, wanted)), None)

    def _list(self, call: str, filters: Mapping[str, str]) -> list[FloatingIp]:
        return [_read(row) for row in self._neutron.pages(call, PATH, "floatingips", params=filters)]


def _read_subnet(row: Mapping[str, Any]) -> Subnet:
    pools = tuple((pool["start"], pool["end"]) for pool in row["allocation_pools"])
    return Subnet(row["id"], row["cidr"], row["gateway_ip"], pools)


def _read(row: Mapping[str, Any]) -> FloatingIp:
    return FloatingIp(
        id=row["id"],
        network_id=row["floating_network_id"],
        address=str(ip_address(row["floating_ip_address"])),
        project_id=row["project_id"],
        tags=frozenset(row["tags"]),
        port_id=row["port_id"],
    )
