"""A real OpenStack as a lab of the contract tests; each test restores its initial state."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from openstack import exceptions

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from leasehold.cloud.ports import CloudPermanentError
from tests.contract.lab import Lab, unique

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from openstack.connection import Connection

    from leasehold.cloud.ports import Hypervisor, Server

SETTLED = ("ACTIVE", "ERROR")
_WITHIN = 60.0
_POLL_EVERY = 0.2


def upload(admin: Connection, image_id: str) -> None:
    """Upload a few bytes of an image: Nova's fake hypervisor uploads nothing."""
    formats = {"/disk_format": "raw", "/container_format": "bare"}
    change = [{"op": "replace", "path": path, "value": value} for path, value in formats.items()]
    image, kind = admin.image, "application/openstack-images-v2.1-json-patch"
    image.patch(f"/images/{image_id}", json=change, headers={"Content-Type": kind}).raise_for_status()
    headers = {"Content-Type": "application/octet-stream"}
    image.put(f"/images/{image_id}/file", data=b"image", headers=headers).raise_for_status()


class OpenStackLab(Lab):
    """Nova, Placement and Neutron through our own ports, and users through the SDK."""

    def __init__(self, conf_file: Path, connect: Callable[[str], Connection]) -> None:
        """Connect to the cloud as `conf_file` says; `connect` logs in as a user, in the project of the same name."""
        self.cloud = openstack_cloud(conf.load(["--config-file", str(conf_file)]).raw)
        self._users = {str(user.current_project_id): user for user in map(connect, ("demo", "alt"))}
        self._admin = connect("admin")
        first, second = self._users
        self.projects: tuple[str, str] = (first, second)
        self.flavor_id = str(self._admin.compute.find_flavor("m1.small", ignore_missing=False).id)
        network = self._admin.network.find_network("public", ignore_missing=False)
        self.network_id = str(network.id)
        self.subnet_id = str(network.subnet_ids[0])
        self.addresses: tuple[str, ...] = ("172.24.4.200", "172.24.4.201")
        self._before = self._everything()

    def token(self, project_id: str) -> str:
        """Return a token of the project's user."""
        return str(self._users[project_id].authorize())

    def hosts(self) -> Sequence[Hypervisor]:
        return sorted(self.cloud.hypervisors.list(), key=lambda host: host.service_host)[2:4]

    def boot(self, project_id: str, flavor_id: str, hints: Sequence[str] = ()) -> Server:
        try:
            made = self._users[project_id].compute.create_server(**self._body(project_id, flavor_id, hints))
        except exceptions.HttpException as error:
            raise CloudPermanentError(str(error)) from error
        self._until(lambda: self._admin.compute.get_server(made.id).status in SETTLED)
        # Listed as building a moment longer than shown in ERROR: Nova forgets the request after it has kept the server.
        found: list[Server] = []

        def listed() -> bool:
            found[:] = [each for each in self.cloud.servers.with_flavor(flavor_id) if each.id == made.id]
            return found[0].status in SETTLED

        self._until(listed)
        return found[0]

    def remove(self, server: Server) -> None:
        self.cloud.servers.delete(server.id)
        self._until(lambda: self._admin.compute.find_server(server.id, all_projects=True) is None)
        # Nova gives up what a server has at Placement after it has forgotten the server.
        placement = self._admin.placement
        self._until(lambda: not placement.get(f"/allocations/{server.id}").json()["allocations"])

    def unshelve(self, server: Server) -> Server:
        self._users[server.project_id].compute.unshelve_server(server.id)
        self._until(lambda: self.cloud.servers.with_ids({server.id})[0].status == "ACTIVE")
        return self.cloud.servers.with_ids({server.id})[0]

    def resume(self, server: Server) -> Server:
        self._users[server.project_id].compute.resume_server(server.id)
        self._until(lambda: self.cloud.servers.with_ids({server.id})[0].status == "ACTIVE")
        return self.cloud.servers.with_ids({server.id})[0]

    def wait_until_done(self, server: Server) -> None:
        self._until(lambda: self._admin.compute.get_server(server.id).task_state is None)

    def complete(self, image_id: str) -> None:
        upload(self._admin, image_id)

    def put_port(self, address: str) -> Callable[[], None]:
        fixed = [{"subnet_id": self.subnet_id, "ip_address": address}]
        made = self._admin.network.create_port(name=unique("port"), network_id=self.network_id, fixed_ips=fixed)
        return lambda: self._admin.network.delete_port(made.id)

    def put_gateway(self, address: str) -> None:
        fixed = [{"subnet_id": self.subnet_id, "ip_address": address}]
        gateway = {"network_id": self.network_id, "external_fixed_ips": fixed}
        self._admin.network.create_router(name=unique("router"), external_gateway_info=gateway)

    def clean(self) -> None:
        """Remove everything that a test created."""
        for hypervisor in self.hosts():
            self.cloud.providers.release_claims(hypervisor.hypervisor_hostname)
        for server in self._admin.compute.servers(details=False, all_projects=True):
            self._admin.compute.delete_server(server.id, force=True, ignore_missing=True)
        self._until(lambda: not any(self._admin.compute.servers(details=False, all_projects=True)))
        providers = [each.hypervisor_hostname for each in self.cloud.hypervisors.list()]
        self._until(lambda: not any(map(self.cloud.providers.usages, providers)))
        now = self._everything()
        for kind, remove in self._removers().items():
            for key in now[kind] - self._before[kind]:
                remove(key)
        for aggregate in self.cloud.aggregates.list():
            for host in aggregate.hosts:
                self.cloud.aggregates.remove_host(aggregate.name, host)

    def _body(self, project_id: str, flavor_id: str, hints: Sequence[str]) -> dict[str, Any]:
        user = self._users[project_id]
        body: dict[str, Any] = {"name": unique("server"), "flavorRef": flavor_id}
        body["networks"] = [{"uuid": str(next(user.network.networks(project_id=project_id)).id)}]
        body["imageRef"] = str(next(user.image.images(name="cirros")).id)
        return body | ({"scheduler_hints": {"reservation": list(hints)}} if hints else {})

    def _everything(self) -> Mapping[str, set[str]]:
        placement = self._admin.placement
        return {
            "aggregates": {aggregate.name for aggregate in self.cloud.aggregates.list()},
            "flavors": {flavor.id for flavor in self.cloud.flavors.list()},
            "floating IPs": {str(address.id) for address in self._admin.network.ips()},
            "images": {str(image.id) for image in self._admin.image.images()},
            "ports": {str(port.id) for port in self._admin.network.ports() if not port.device_owner},
            "routers": {str(router.id) for router in self._admin.network.routers()},
            "providers": {str(provider.name) for provider in placement.resource_providers()},
            "classes": {
                row["name"] for row in placement.get("/resource_classes", microversion="1.2").json()["resource_classes"]
            },
        }

    def _removers(self) -> Mapping[str, Callable[[str], None]]:
        """Return the remover of each kind, in a valid order: resource classes after the providers that use them."""
        return {
            "aggregates": self._remove_aggregate,
            "flavors": self.cloud.flavors.delete,
            "floating IPs": self.cloud.networks.delete_floating_ip,
            "images": self._admin.image.delete_image,
            "ports": self._admin.network.delete_port,
            "routers": self._admin.network.delete_router,
            "providers": self.cloud.providers.delete,
            "classes": self.cloud.providers.delete_class,
        }

    def _remove_aggregate(self, name: str) -> None:
        aggregate = self.cloud.aggregates.get(name)
        for host in aggregate.hosts if aggregate else ():
            self.cloud.aggregates.remove_host(name, host)
        self.cloud.aggregates.delete(name)

    def _until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _WITHIN
        while not done():
            assert time.monotonic() < deadline, "the cloud did not get there in time"
            time.sleep(_POLL_EVERY)
