"""Assembles the sandbox: `sandbox(engine)` returns a complete `Cloud` on one database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cloud.ports import Cloud
from leasehold.cloud.sandbox.actions import SandboxActions
from leasehold.cloud.sandbox.aggregates import SandboxAggregates
from leasehold.cloud.sandbox.faults import Faults, verbs_of
from leasehold.cloud.sandbox.flavors import SandboxFlavors
from leasehold.cloud.sandbox.hypervisors import SandboxHypervisors
from leasehold.cloud.sandbox.images import SandboxImages
from leasehold.cloud.sandbox.machines import SandboxMachines
from leasehold.cloud.sandbox.networks import SandboxNetworks
from leasehold.cloud.sandbox.placement import SandboxProviders
from leasehold.cloud.sandbox.port import utc_now
from leasehold.cloud.sandbox.servers import SandboxServers
from leasehold.cloud.sandbox.storage import SandboxStorage

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine

VERBS: tuple[str, ...] = tuple(
    name
    for port in (
        SandboxHypervisors,
        SandboxAggregates,
        SandboxFlavors,
        SandboxServers,
        SandboxImages,
        SandboxProviders,
        SandboxNetworks,
        SandboxStorage,
        SandboxActions,
        SandboxMachines,
    )
    for name in verbs_of(port)
)
"""Every call that a fault can be set on."""


@dataclass(frozen=True, slots=True)
class SandboxCloud(Cloud):
    """A cloud whose ports also have the sandbox's controls: boot, fail, recover, machines, faults."""

    hypervisors: SandboxHypervisors
    aggregates: SandboxAggregates
    flavors: SandboxFlavors
    servers: SandboxServers
    images: SandboxImages
    providers: SandboxProviders
    networks: SandboxNetworks
    storage: SandboxStorage
    machines: SandboxMachines
    faults: Faults


def sandbox(engine: Engine, *, clock: Callable[[], datetime] = utc_now, faults_in_force: bool = True) -> SandboxCloud:
    """Return the sandbox cloud that lives in the engine's database, which has the tables of `sandbox.tables`.

    It caches nothing but the faults, for one second, so any number of processes may share a sandbox. `clock` returns
    aware UTC. Without `faults_in_force`, calls through this object ignore all faults, as an administrator's tools need.
    """
    faults = Faults(engine, in_force=faults_in_force)
    return SandboxCloud(
        hypervisors=SandboxHypervisors(engine, faults, clock=clock),
        aggregates=SandboxAggregates(engine, faults, clock=clock),
        flavors=SandboxFlavors(engine, faults, clock=clock),
        servers=SandboxServers(engine, faults, clock=clock),
        images=SandboxImages(engine, faults, clock=clock),
        providers=SandboxProviders(engine, faults, clock=clock),
        networks=SandboxNetworks(engine, faults, clock=clock),
        machines=SandboxMachines(engine, faults, clock=clock),
        server_groups=None,
        storage=SandboxStorage(engine, faults, clock=clock),
        actions=SandboxActions(engine, faults, clock=clock),
        faults=faults,
    )
