"""The sandbox's networks and floating IPs."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import bindparam, delete, insert, select

from leasehold.cloud.ports import (
    RESERVATION_TAG,
    CloudPermanentError,
    CloudTransientError,
    FloatingIp,
    HeldError,
    Network,
    NetworkPort,
    Subnet,
    TakenError,
)
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import Port, with_all
from leasehold.cloud.sandbox.tables import floating_ip_tags, floating_ips, networks, ports, subnets
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection, RowMapping

_NETWORK = (
    select(
        networks.c.name, subnets.c.id.label("subnet_id"), subnets.c.cidr, subnets.c.gateway, subnets.c.allocation_pools
    )
    .outerjoin(subnets)
    .where(networks.c.id == bindparam("network"))
    .order_by(subnets.c.id)
)
_SUBNET = select(subnets.c.cidr).where(
    subnets.c.id == bindparam("subnet"), subnets.c.network_id == bindparam("network")
)
_WITH_TAGS = select(floating_ips, floating_ip_tags.c.tag).outerjoin(floating_ip_tags)
_AT_ADDRESS = _WITH_TAGS.where(
    floating_ips.c.network_id == bindparam("network"), floating_ips.c.address == bindparam("ip")
)
_TAGGED = _WITH_TAGS.where(
    floating_ips.c.id.in_(
        select(floating_ip_tags.c.floating_ip_id).where(floating_ip_tags.c.tag == bindparam("wanted"))
    )
).order_by(floating_ips.c.address)
_ON_NETWORK = _WITH_TAGS.where(floating_ips.c.network_id == bindparam("network")).order_by(floating_ips.c.address)
_ADD = insert(floating_ips)
_ADD_TAG = insert(floating_ip_tags)
_DELETE_TAGS = delete(floating_ip_tags).where(floating_ip_tags.c.floating_ip_id == bindparam("number"))
_DELETE_TAG = _DELETE_TAGS.where(floating_ip_tags.c.tag == bindparam("old"))
_DELETE = delete(floating_ips).where(floating_ips.c.id == bindparam("number"))
_PORTS = (
    select(ports)
    .where(ports.c.network_id == bindparam("network"), ports.c.address.in_(bindparam("ips", expanding=True)))
    .order_by(ports.c.address)
)
_FIELDS = ("id", "network_id", "address", "project_id", "port_id")


class SandboxNetworks(Port):
    """Implements `ports.Networks`."""

    group = "networks"

    @verb
    def get(self, network_id: str) -> Network | None:
        """Return the network with its subnets, or None."""
        with reading(self.engine) as connection:
            rows = connection.execute(_NETWORK, {"network": network_id}).all()
        if not rows:
            return None
        found = tuple(
            Subnet(row.subnet_id, row.cidr, row.gateway, tuple((first, last) for first, last in row.allocation_pools))
            for row in rows
            if row.subnet_id is not None
        )
        return Network(network_id, rows[0].name, found)

    @verb
    def floating_ip(self, network_id: str, address: str) -> FloatingIp | None:
        """Return the floating IP that has this address now, or None."""
        with reading(self.engine) as connection:
            return _at_address(connection, network_id, address)

    @verb
    def list_floating_ips(self, tag: str) -> Sequence[FloatingIp]:
        """Return the floating IPs that carry a tag."""
        with reading(self.engine) as connection:
            return _to_floating_ips(connection.execute(_TAGGED, {"wanted": tag}).mappings().all())

    @verb
    def list_network(self, network_id: str) -> Sequence[FloatingIp]:
        """Return the floating IPs of a network, of every project."""
        with reading(self.engine) as connection:
            return _to_floating_ips(connection.execute(_ON_NETWORK, {"network": network_id}).mappings().all())

    @verb
    def ports_at(self, network_id: str, addresses: Collection[str]) -> Sequence[NetworkPort]:
        """Return who has these addresses of a network, other than floating IPs."""
        with reading(self.engine) as connection:
            return _ports_at(connection, network_id, addresses)

    @verb
    def create_floating_ip(
        self, network_id: str, subnet_id: str, address: str, project_id: str, tags: frozenset[str]
    ) -> FloatingIp:
        """Create the floating IP with this address in a project, with these tags.

        Raises HeldError or TakenError when somebody else has the address, and CloudPermanentError when the address is
        not in that subnet of the network.
        """
        with writing(self.engine) as connection:
            _check_subnet(connection, network_id, subnet_id, address)
            present = _at_address(connection, network_id, address)
            if present is None:
                for port in _ports_at(connection, network_id, [address]):
                    raise TakenError(port)
                number, lacking = str(uuid4()), tags
                values = {"id": number, "network_id": network_id, "subnet_id": subnet_id, "address": _text(address)}
                connection.execute(_ADD, {**values, "project_id": project_id, "port_id": None})
            elif present.project_id == project_id:
                number, lacking = present.id, tags - present.tags
                for tag in present.tags - tags:
                    if tag.startswith(RESERVATION_TAG):
                        connection.execute(_DELETE_TAG, {"number": number, "old": tag})
            else:
                raise HeldError(present)
            if lacking:
                connection.execute(_ADD_TAG, [{"floating_ip_id": number, "tag": tag} for tag in sorted(lacking)])
            found = _at_address(connection, network_id, address)
        if found is None:
            raise CloudTransientError(f"sandbox networks.create_floating_ip: {address} was removed meanwhile")
        return found

    @verb
    def delete_floating_ip(self, floating_ip_id: str) -> None:
        """Disassociate and delete a floating IP."""
        with writing(self.engine) as connection:
            connection.execute(_DELETE_TAGS, {"number": floating_ip_id})
            connection.execute(_DELETE, {"number": floating_ip_id})


def _check_subnet(connection: Connection, network_id: str, subnet_id: str, address: str) -> None:
    row = connection.execute(_SUBNET, {"network": network_id, "subnet": subnet_id}).first()
    call = "sandbox networks.create_floating_ip"
    if row is None:
        raise CloudPermanentError(f"{call}: network {network_id} has no subnet {subnet_id}")
    if ip_address(_text(address)) not in ip_network(row.cidr):
        raise CloudPermanentError(f"{call}: {address} is not in {row.cidr}")


def _at_address(connection: Connection, network_id: str, address: str) -> FloatingIp | None:
    found = _to_floating_ips(
        connection.execute(_AT_ADDRESS, {"network": network_id, "ip": _text(address)}).mappings().all()
    )
    return found[0] if found else None


def _ports_at(connection: Connection, network_id: str, addresses: Collection[str]) -> list[NetworkPort]:
    rows = connection.execute(_PORTS, {"network": network_id, "ips": sorted(set(map(_text, addresses)))})
    return [NetworkPort(row.id, row.network_id, row.address, row.owner) for row in rows]


def _text(address: str) -> str:
    """Return an address in canonical form, since IPv6 has many; raises CloudPermanentError for an invalid one."""
    try:
        return str(ip_address(address))
    except ValueError as error:
        raise CloudPermanentError(f"sandbox networks: {address} is not an IP address") from error


def _to_floating_ips(rows: Sequence[RowMapping]) -> list[FloatingIp]:
    """Group the joined rows, one per tag, into floating IPs."""
    return [FloatingIp(**{name: row[name] for name in _FIELDS}, tags=tags) for row, tags in with_all(rows, "tag")]
