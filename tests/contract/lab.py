"""What the contract tests need from a cloud besides its ports: existing resources, and users who boot servers.

A `Lab` is one cloud that a test may change freely. Each cloud under test has its own lab; the tests use only this
interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from sqlalchemy import delete

from leasehold.cloud.ports import Flavor
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.tables import metadata
from leasehold.db.engine import writing
from tests.mishaps import put_port, remove_port
from tests.owners import resume, unshelve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Engine

    from leasehold.cloud.ports import Aggregate, Cloud, Hypervisor, Server
    from leasehold.cloud.sandbox.cloud import SandboxCloud


GATEWAY = "network:router_gateway"
"""The owner of a port that is the gateway of a router."""


class Lab(Protocol):
    """A cloud with at least two idle hosts, two projects, a small public flavor, and a network with free addresses."""

    cloud: Cloud
    """The ports under test."""
    projects: tuple[str, str]
    flavor_id: str
    network_id: str
    subnet_id: str
    addresses: tuple[str, ...]

    @property
    def host(self) -> str:
        """The service host of the first of `hosts`."""
        return self.hosts()[0].service_host

    def aggregate_of(self, *hosts: str, zone: str | None = None, metadata: Mapping[str, str] | None = None) -> str:
        """Create an aggregate of these hosts; return its name."""
        name = unique("aggregate")
        self.cloud.aggregates.ensure(name, zone, metadata or {})
        for host in hosts:
            self.cloud.aggregates.add_host(name, host)
        return name

    def host_reservation(self) -> str:
        """Create an active host reservation of the first project on the first host (contract resources §2, effects)."""
        name = unique("reservation")
        self.cloud.aggregates.ensure(name, f"blazar_{name}", {"blazar:owner": self.projects[0]})
        self.cloud.aggregates.add_host(name, self.host)
        return name

    def new_flavor(self) -> str:
        """Create the flavor of an instance reservation; return its id."""
        name = unique("flavor")
        self.cloud.flavors.ensure(private_flavor(name))
        return name

    def aggregate(self, name: str) -> Aggregate:
        """Return an aggregate that exists."""
        found = self.cloud.aggregates.get(name)
        assert found is not None, name
        return found

    def flavor(self, ident: str) -> Flavor:
        """Return a flavor that exists."""
        found = self.cloud.flavors.get(ident)
        assert found is not None, ident
        return found

    def hosts(self) -> Sequence[Hypervisor]:
        """Return two hosts of the lab that are up and have no servers."""

    def boot(self, project_id: str, flavor_id: str, hints: Sequence[str] = ()) -> Server:
        """Boot a server as a user of the project; return it when it is ACTIVE or in ERROR."""

    def remove(self, server: Server) -> None:
        """Delete a server through the port; return when it is gone."""

    def unshelve(self, server: Server) -> Server:
        """Unshelve a server as a user of its project; return it when it is ACTIVE."""

    def resume(self, server: Server) -> Server:
        """Resume a suspended server as a user of its project; return it when it is ACTIVE."""

    def wait_until_done(self, server: Server) -> None:
        """Return when no operation on the server, such as an image upload, is in progress."""

    def complete(self, image_id: str) -> None:
        """Complete an upload that the cloud under test does not complete by itself."""

    def put_port(self, address: str) -> Callable[[], None]:
        """Give an address of the network to a port; return what removes the port."""

    def put_gateway(self, address: str) -> None:
        """Make an address of the network the gateway of a router."""


class SandboxLab(Lab):
    """The sandbox in its initial state."""

    cloud: SandboxCloud
    projects = (seed.PROJECTS[0], seed.PROJECTS[1])
    flavor_id = "m1.small"
    network_id = seed.NETWORK_ID
    subnet_id = seed.SUBNET_ID
    addresses = seed.SUGGESTED_FLOATING_IPS

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.cloud = sandbox(engine)

    def hosts(self) -> Sequence[Hypervisor]:
        return self.cloud.hypervisors.list()[2:4]

    def boot(self, project_id: str, flavor_id: str, hints: Sequence[str] = ()) -> Server:
        return self.cloud.servers.boot(unique("server"), project_id, flavor_id, hints)

    def remove(self, server: Server) -> None:
        self.cloud.servers.delete(server.id)

    def unshelve(self, server: Server) -> Server:
        return unshelve(self.cloud.servers, server.id)

    def resume(self, server: Server) -> Server:
        return resume(self.cloud.servers, server.id)

    def wait_until_done(self, server: Server) -> None:
        """Return at once: a sandbox server is never busy."""

    def complete(self, image_id: str) -> None:
        """Return at once: a sandbox image is complete."""

    def put_port(self, address: str) -> Callable[[], None]:
        made = put_port(self.cloud, self.network_id, address)
        return lambda: remove_port(self.cloud, made.id)

    def put_gateway(self, address: str) -> None:
        put_port(self.cloud, self.network_id, address, GATEWAY)


def new_sandbox(engine: Engine) -> SandboxLab:
    """Return a new sandbox on this database, which may contain an old one."""
    metadata.create_all(engine)
    with writing(engine) as connection:
        for table in reversed(metadata.sorted_tables):
            # A provider's children refer to it within the same table, so delete them first.
            if table.name == "sandbox_providers":
                connection.execute(delete(table).where(table.c.parent_id.is_not(None)))
            connection.execute(delete(table))
    seed.plant(engine)
    return SandboxLab(engine)


def unique(prefix: str) -> str:
    """Return a name that is not in use in the cloud."""
    return f"{prefix}-{uuid4()}"


def private_flavor(reservation: str, **changes: object) -> Flavor:
    """Return the flavor of an instance reservation (contract resources §3, effects)."""
    values: dict[str, object] = {
        "id": reservation,
        "name": f"reservation:{reservation}",
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 1,
        "extra_specs": {
            "aggregate_instance_extra_specs:reservation": reservation,
            f"resources:{custom_class(reservation)}": "1",
        },
    }
    return Flavor(**{**values, **changes})  # type: ignore[arg-type]  # Fields by name; a wrong one fails in the test.


def custom_class(reservation: str) -> str:
    """Return the resource class of an instance reservation (contract resources §3, effects)."""
    return f"CUSTOM_RESERVATION_{reservation.upper().replace('-', '_')}"
