"""A sandbox cloud with three enrolled hosts and with users' servers, and a picture of its state to compare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import insert, select

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox import seed, tables
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.engine import reading, writing
from leasehold.resource_types.driver import Convergence, Holding
from tests.contract.lab import new_sandbox
from tests.factory import Clock
from tests.unit.resource_types.pool import address, host, reservation

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from leasehold.resource_types.driver import Wanted
    from leasehold.resource_types.registry import ResourceType

FREEPOOL = "freepool"
PROJECT = "demo"
SPECS = {1: seed.HOSTS[0], 2: seed.HOSTS[1], 3: seed.HOSTS[2]}
SERVICE_HOSTS = {number: spec.service_host for number, spec in SPECS.items()}
"""The third host's service name differs from its hypervisor hostname."""
ADDRESSES = (201, 202, 203)


class Scene:
    """A new sandbox. A test puts servers on a given host, or boots them through the scheduler."""

    def __init__(self, engine: Engine) -> None:
        new_sandbox(engine)
        self.engine = engine
        self.clock = Clock()
        self.cloud = sandbox(engine, clock=self.clock.now)
        for spec in SPECS.values():
            self.cloud.aggregates.add_host(FREEPOOL, spec.service_host)
            self.cloud.providers.ensure_child(spec.hypervisor_hostname, f"blazar_{spec.hypervisor_hostname}")

    def put_server(self, name: str, number: int, *, flavor: str = "m1.small", preemptible: bool = False) -> None:
        """Add a running server of another project to a host."""
        row = {"id": str(uuid4()), "name": name, "project_id": "alt", "flavor_id": flavor, "status": "ACTIVE"}
        where = {"service_host": SERVICE_HOSTS[number], "preemptible": preemptible, "created_at": self.clock.now()}
        with writing(self.engine) as connection:
            connection.execute(insert(tables.servers), {**row, **where})

    def servers(self) -> set[str]:
        """Return the names of the servers on the hosts."""
        return {server.name for name in SERVICE_HOSTS.values() for server in self.cloud.servers.on_host(name)}

    def members(self, aggregate: str) -> set[str] | None:
        """Return the hosts of an aggregate, or None when there is none."""
        found = self.cloud.aggregates.get(aggregate)
        return None if found is None else set(found.hosts)

    def slots(self, number: int) -> int | None:
        """Return how many slots a host offers to reservations, None when it has no inventory for them."""
        found = self.cloud.providers.inventories(f"blazar_{SPECS[number].hypervisor_hostname}")
        return sum(inventory.total for inventory in found.values()) if found else None

    def picture(self) -> dict[str, Any]:
        """Return the state of the cloud without the ids that the cloud generates."""
        with reading(self.engine) as connection:
            classes = set(connection.execute(select(tables.resource_classes.c.name)).scalars())
            servers = connection.execute(select(tables.servers.c.name, tables.servers.c.service_host)).all()
        at = {last: self.cloud.networks.floating_ip(seed.NETWORK_ID, f"203.0.113.{last}") for last in ADDRESSES}
        return {
            "aggregates": [replace(each, id=0) for each in self.cloud.aggregates.list()],
            "flavors": {each.id: each for each in self.cloud.flavors.list()},
            "inventories": [
                self.cloud.providers.inventories(f"blazar_{spec.hypervisor_hostname}") for spec in SPECS.values()
            ],
            "classes": classes,
            "servers": sorted((row.name, row.service_host) for row in servers),
            "claims": self.cloud.providers.claimed({spec.hypervisor_hostname for spec in SPECS.values()}),
            "addresses": {last: replace(found, id="") for last, found in at.items() if found},
        }

    def interrupted(
        self, resource_type: ResourceType, job: Convergence[Any], wanted: Wanted, call: int, error: Any
    ) -> bool:
        """Converge with a fault at call number `call` to the cloud; return whether that call was reached."""
        if call > 1:
            self.cloud.faults.set(Fault("*", remaining=call - 1))
        self.cloud.faults.set(Fault("*", error=error, remaining=1))
        try:
            resource_type.driver.converge(self.cloud, job, wanted)
        except CloudError:
            return True
        else:
            return False
        finally:
            self.cloud.faults.clear()


def holding(number: int, slots: int = 1) -> Holding:
    """Return a holding of a host of the scene."""
    spec = SPECS[number]
    names = {"hypervisor_hostname": spec.hypervisor_hostname, "service_name": spec.service_host}
    return Holding(host(number, attributes=names), slots, number)


def holding_address(last: int) -> Holding:
    """Return a holding of an address of the sandbox's network."""
    names = {"floating_network_id": seed.NETWORK_ID, "subnet_id": seed.SUBNET_ID}
    resource = address(last, attributes={**names, "floating_ip_address": f"203.0.113.{last}"})
    return Holding(resource, 1, last)


def job(
    resource_type: ResourceType, request: Any, *held: Holding, former: tuple[Holding, ...] = (), **more: Any
) -> Convergence[Any]:
    """Return the job of our reservation with its present and `former` holdings; `more` are fields of the Job."""
    return Convergence(PROJECT, reservation(resource_type.kind, request), resource_type.kind, held, former, **more)
