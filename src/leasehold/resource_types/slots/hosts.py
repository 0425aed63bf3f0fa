"""The pool of hosts: reservations of whole hosts, of instances and of flavors use the same hosts (design §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leasehold.model.resource import HOST, HOST_POOL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from leasehold.cloud.ports import Cloud
    from leasehold.resource_types.driver import Holding


class OfHosts:
    """What the kinds of this pool have in common."""

    pool: ClassVar[str] = HOST_POOL
    singular: ClassVar[str] = "host"
    enrolled_as: ClassVar[str] = HOST
    identifying: ClassVar[frozenset[str]] = frozenset({"hypervisor_hostname", "service_name", "trust_id"})
    discovered: ClassVar[frozenset[str]] = frozenset(
        {
            "vcpus",
            "memory_mb",
            "local_gb",
            "cpu_info",
            "hypervisor_type",
            "hypervisor_version",
            "availability_zone",
            "status",
        }
    )


def members_of(cloud: Cloud, aggregate: str) -> frozenset[str]:
    """Return the service hosts in an aggregate; none if there is no such aggregate."""
    found = cloud.aggregates.get(aggregate)
    return found.hosts if found else frozenset()


def on_hosts(holdings: Iterable[Holding], service_hosts: Collection[str | None]) -> frozenset[int]:
    """Return the allocation ids of the holdings on these hosts."""
    return frozenset(each.allocation_id for each in holdings if each.host_name.service_host in service_hosts)
