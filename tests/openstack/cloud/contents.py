"""Creates flavors, images, networks and the free pool; may run again at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.openstack.cloud.accounts import MEMBERS
from tests.openstack.cloud.clients import connect

if TYPE_CHECKING:
    from openstack.connection import Connection

FREE_POOL = "freepool"
# Name, memory in MiB, disk in GiB, virtual processors.
_FLAVORS = (
    ("m1.nano", 128, 1, 1),
    ("m1.micro", 256, 1, 1),
    ("m1.tiny", 512, 1, 1),
    ("m1.small", 2048, 20, 1),
    ("m1.medium", 4096, 40, 2),
    ("m1.large", 8192, 80, 4),
)


def seed_contents(admin: Connection, auth_url: str) -> None:
    _seed_flavors(admin)
    _seed_images(admin)
    public = _seed_public_network(admin)
    for number, name in enumerate(("admin", *MEMBERS), start=1):
        _seed_project_network(connect(auth_url, name, name), name, f"10.{number}.0.0/16", public)
    if admin.compute.find_aggregate(FREE_POOL) is None:
        admin.compute.create_aggregate(name=FREE_POOL)


def _seed_flavors(admin: Connection) -> None:
    present = {flavor.name for flavor in admin.compute.flavors()}
    for name, memory, disk, processors in _FLAVORS:
        if name not in present:
            admin.compute.create_flavor(name=name, ram=memory, disk=disk, vcpus=processors)


def _seed_images(admin: Connection) -> None:
    present = {image.name for image in admin.image.images()}
    for name in ("cirros", "cirros-alt"):
        if name not in present:
            # The fake hypervisors do not boot it, so only its name matters.
            admin.image.create_image(
                name=name,
                data=bytes(65536),
                disk_format="raw",
                container_format="bare",
                visibility="public",
                validate_checksum=False,
            )


def _seed_public_network(admin: Connection) -> str:
    """Create the network of the floating IPs and return its id; addresses outside its pool are for leases."""
    network = admin.network.find_network("public")
    if network is None:
        network = admin.network.create_network(
            name="public",
            is_router_external=True,
            provider_network_type="flat",
            provider_physical_network="public",
        )
        admin.network.create_subnet(
            name="public-subnet",
            network_id=network.id,
            ip_version=4,
            cidr="172.24.4.0/24",
            gateway_ip="172.24.4.1",
            enable_dhcp=False,
            allocation_pools=[{"start": "172.24.4.10", "end": "172.24.4.199"}],
        )
    return str(network.id)


def _seed_project_network(connection: Connection, project: str, cidr: str, public: str) -> None:
    neutron = connection.network
    # The router is created last: if it exists, the rest exists too.
    if next(neutron.routers(name=f"{project}-router"), None) is not None:
        return
    network = neutron.create_network(name=f"{project}-net")
    subnet = neutron.create_subnet(name=f"{project}-subnet", network_id=network.id, ip_version=4, cidr=cidr)
    router = neutron.create_router(name=f"{project}-router", external_gateway_info={"network_id": public})
    neutron.add_interface_to_router(router, subnet=subnet.id)
