"""The pool of hosts: reservations of whole hosts, of instances and of flavors use the same hosts (design §4)."""

from __future__ import annotations

from typing import ClassVar

from leasehold.model.resource import HOST, HOST_POOL


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
