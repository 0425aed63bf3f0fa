"""The content of a new sandbox: a dozen different hosts, flavors, a network. `plant` inserts it once.

Ids are the same in every sandbox, so that documents can name them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_DNS, uuid5

from sqlalchemy import insert, select

from leasehold.cloud.ports import Flavor, Inventory
from leasehold.cloud.sandbox import tables
from leasehold.cloud.sandbox.placement import FIELDS, STANDARD_CLASSES
from leasehold.cloud.sandbox.port import locked
from leasehold.db.engine import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection, Engine

FREEPOOL = "freepool"
PROJECTS = ("demo", "alt")
GPU = "CUSTOM_GPU"
AVX2 = "HW_CPU_X86_AVX2"
AVX512 = "HW_CPU_X86_AVX512F"

NETWORK_ID = str(uuid5(NAMESPACE_DNS, "public.network.sandbox.leasehold"))
SUBNET_ID = str(uuid5(NAMESPACE_DNS, "public.subnet.sandbox.leasehold"))

_PLANTED = "planted"
_INTEL = {"vendor": "Intel", "model": "Cascadelake-Server", "arch": "x86_64", "features": ["avx2", "avx512f", "vmx"]}
_AMD = {"vendor": "AMD", "model": "EPYC-Rome", "arch": "x86_64", "features": ["avx2", "svm"]}
_OLD = {"vendor": "Intel", "model": "Westmere", "arch": "x86_64", "features": ["vmx"]}


@dataclass(frozen=True, slots=True)
class HostSpec:
    """One compute host: its size, its further inventories and traits, and the properties to enrol it with.

    `inventories` are custom resource classes of the host's own provider; `cpu_ratio` is the allocation ratio of its
    VCPUs, and `reserved_mb` the reserved memory.
    """

    id: int
    hypervisor_hostname: str
    service_host: str
    vcpus: int
    memory_mb: int
    local_gb: int
    zone: str = ""
    cpu: Mapping[str, object] = field(default_factory=lambda: _INTEL)
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset({AVX2})
    cpu_ratio: float = 1.0
    reserved_mb: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


def _gpus(rack: str, model: str, count: int) -> dict[str, Any]:
    """Return what a host with GPUs has beside its size."""
    properties = {"rack": rack, "gpu_model": model, "gpu_count": str(count)}
    return {"inventories": {GPU: Inventory(total=count, max_unit=count)}, "properties": properties}


_AVX = frozenset({AVX2, AVX512})
_OVERCOMMITTED: dict[str, Any] = {"cpu_ratio": 2.0, "reserved_mb": 512, "traits": _AVX}

HOSTS: tuple[HostSpec, ...] = (
    HostSpec(1, "cmp-01", "cmp-01", 8, 32768, 200, "zone-a", properties={"rack": "a1"}),
    HostSpec(2, "cmp-02", "cmp-02", 8, 32768, 200, "zone-a", properties={"rack": "a1"}),
    HostSpec(3, "cmp-03.example", "cmp-03", 16, 65536, 400, "zone-a", properties={"rack": "a1"}),
    HostSpec(4, "cmp-04.example", "cmp-04", 16, 65536, 400, "zone-a", _AMD, properties={"rack": "a2"}),
    HostSpec(5, "cmp-05", "cmp-05", 32, 131072, 800, "zone-a", _AMD, properties={"rack": "a2"}),
    HostSpec(6, "cmp-06", "cmp-06", 4, 8192, 80, "zone-b", _OLD, traits=frozenset(), properties={"rack": "b1"}),
    HostSpec(7, "cmp-07", "cmp-07", 4, 8192, 80, "zone-b", _OLD, traits=frozenset(), properties={"rack": "b1"}),
    HostSpec(8, "cmp-08.example", "cmp-08", 64, 262144, 1600, "zone-b", properties={"rack": "b1"}, **_OVERCOMMITTED),
    HostSpec(9, "cmp-09", "cmp-09", 128, 524288, 3200, "zone-b", properties={"rack": "b2"}, **_OVERCOMMITTED),
    HostSpec(10, "gpu-01.example", "gpu-01", 32, 262144, 1600, "zone-a", traits=_AVX, **_gpus("a2", "A100", 4)),
    HostSpec(11, "gpu-02.example", "gpu-02", 64, 524288, 3200, "zone-b", traits=_AVX, **_gpus("b2", "H100", 8)),
    HostSpec(12, "gpu-03", "gpu-03", 16, 131072, 800, "zone-b", _AMD, **_gpus("b2", "L40S", 2)),
)

_GPU_SPECS = {f"resources:{GPU}": "1", f"trait:{AVX2}": "required"}
FLAVORS: tuple[Flavor, ...] = (
    Flavor("m1.small", "m1.small", 1, 2048, 20, public=True),
    Flavor("m1.medium", "m1.medium", 2, 4096, 40, public=True),
    Flavor("m1.large", "m1.large", 4, 8192, 80, public=True),
    Flavor("m1.xlarge", "m1.xlarge", 8, 16384, 160, public=True),
    Flavor("g1.large", "g1.large", 4, 16384, 80, public=True, extra_specs=_GPU_SPECS),
)

STORAGE: tuple[str, ...] = ("stor-01@hdd", "stor-01@ssd", "stor-02@hdd", "stor-03@hdd")
"""The services that keep volumes, on three machines."""

SUGGESTED_HOSTS: tuple[tuple[str, Mapping[str, str]], ...] = tuple(
    (host.hypervisor_hostname, dict(host.properties)) for host in HOSTS
)
"""Hypervisor hostnames to enrol, each with the properties to give it."""

SUGGESTED_FLOATING_IPS: tuple[str, ...] = tuple(f"203.0.113.{last}" for last in range(200, 220))
"""Addresses of the network `public` outside the cloud's allocation pool, to enrol as floating IPs."""


def plant(engine: Engine) -> None:
    """Create missing tables, and insert the hosts, flavors, free pool and network, once.

    A sandbox that has this content already is left unchanged, so users' changes survive a restart.
    """
    tables.create(engine)
    with locked(engine, "seed") as connection:
        planted = select(tables.state.c.name).where(tables.state.c.name == _PLANTED)
        if connection.execute(planted).first() is not None:
            return
        connection.execute(insert(tables.state), {"name": _PLANTED, "value": 1})
        _add_hosts(connection, HOSTS)
        services = [{"name": name, "host": name.partition("@")[0], "zone": "zone-a"} for name in STORAGE]
        connection.execute(insert(tables.storage_services), services)
        connection.execute(insert(tables.aggregates), [{"name": FREEPOOL, "zone": None, "metadata": {}}])
        connection.execute(insert(tables.flavors), [_flavor_row(flavor) for flavor in FLAVORS])
        connection.execute(insert(tables.networks), {"id": NETWORK_ID, "name": "public"})
        subnet = {"id": SUBNET_ID, "network_id": NETWORK_ID, "cidr": "203.0.113.0/24", "gateway": "203.0.113.1"}
        pools = [["203.0.113.10", "203.0.113.99"]]
        connection.execute(insert(tables.subnets), {**subnet, "allocation_pools": pools})


def add_hosts(engine: Engine, hosts: Iterable[HostSpec]) -> None:
    """Add more hosts: hypervisors with their providers, inventories and traits. Ids and names must be new."""
    with writing(engine) as connection:
        _add_hosts(connection, tuple(hosts))


def _add_hosts(connection: Connection, hosts: tuple[HostSpec, ...]) -> None:
    _add_classes(connection, {*STANDARD_CLASSES, *(name for host in hosts for name in host.inventories)})
    connection.execute(insert(tables.hypervisors), [_hypervisor_row(host) for host in hosts])
    named = [{"name": host.hypervisor_hostname, "parent_id": None} for host in hosts]
    connection.execute(insert(tables.providers), named)
    roots = select(tables.providers.c.name, tables.providers.c.id).where(tables.providers.c.parent_id.is_(None))
    numbers = {row.name: row.id for row in connection.execute(roots)}
    inventories = [
        {"provider_id": numbers[host.hypervisor_hostname], "resource_class": name}
        | {key: getattr(inventory, key) for key in FIELDS}
        for host in hosts
        for name, inventory in _inventories(host).items()
    ]
    connection.execute(insert(tables.inventories), inventories)
    traits = [
        {"provider_id": numbers[host.hypervisor_hostname], "trait": trait} for host in hosts for trait in host.traits
    ]
    if traits:
        connection.execute(insert(tables.traits), traits)


def _add_classes(connection: Connection, names: set[str]) -> None:
    present = set(connection.execute(select(tables.resource_classes.c.name)).scalars())
    if names - present:
        connection.execute(insert(tables.resource_classes), [{"name": name} for name in sorted(names - present)])


def _inventories(host: HostSpec) -> dict[str, Inventory]:
    return {
        "VCPU": Inventory(total=host.vcpus, max_unit=host.vcpus, allocation_ratio=host.cpu_ratio),
        "MEMORY_MB": Inventory(total=host.memory_mb, reserved=host.reserved_mb, max_unit=host.memory_mb),
        "DISK_GB": Inventory(total=host.local_gb, max_unit=host.local_gb),
        **host.inventories,
    }


def _hypervisor_row(host: HostSpec) -> dict[str, object]:
    columns = ("id", "hypervisor_hostname", "service_host", "vcpus", "memory_mb", "local_gb", "zone")
    return {name: getattr(host, name) for name in columns} | {
        "cpu_info": json.dumps(dict(host.cpu)),
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8002002,
        "up": True,
        "enabled": True,
    }


def _flavor_row(flavor: Flavor) -> dict[str, object]:
    columns = ("id", "name", "vcpus", "memory_mb", "disk_gb", "ephemeral_gb", "swap_mb", "public")
    return {name: getattr(flavor, name) for name in columns} | {"extra_specs": dict(flavor.extra_specs)}
