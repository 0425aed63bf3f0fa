"""Resources: what can be leased."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

HOST = "physical:host"
MAINTENANCE = "maintenance:host"
"""The type of the reservations that maintenance windows consist of (decision 0044)."""
FLOATING_IP = "virtual:floatingip"
HOST_POOL = "hosts"
"""Reservations of hosts, instances and flavors share this pool, because they use the same hosts (design §4)."""
FLOATING_IP_POOL = "floatingips"


ALWAYS_KNOWN = frozenset({"id", "reservable"})
"""What expressions can name of every resource, besides its attributes and properties."""


class Health(StrEnum):
    """Whether a resource can be used (contract resources §7); only a healthy one gets new allocations."""

    HEALTHY = "healthy"
    DISABLED = "disabled"
    """Up, but in maintenance: its allocations stay, and leases on it begin and end as usual."""
    DOWN = "down"
    """Down, for less than the grace period."""
    FAILED = "failed"
    """Down for at least the grace period: other hosts replace it in its allocations."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that can be leased, such as a host or a floating IP.

    `number` is the database's own key and never reused; `id` is what the API shows (for hosts Nova's hypervisor id).
    `reference` is the name in the cloud, unique among the enrolled resources of a type.
    `capacity` maps resource classes (VCPU, MEMORY_MB, DISK_GB, PCPU, CUSTOM_*) to what Placement would admit,
    `(total - reserved) * allocation_ratio`; `max_unit` to the largest amount of one instance, where limited.
    `attributes` are the discovered values (vcpus, subnet_id, ...), `properties` the operator's own keys.
    `down_since` is when a host that is down was first seen so. `changed_at` is when the cloud was found to say
    something else of it than before; None once every allocation on it fits that.
    """

    number: int
    id: str
    type: str
    pool: str
    capacity: Mapping[str, int]
    max_unit: Mapping[str, int]
    attributes: Mapping[str, Any]
    properties: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    traits: frozenset[str] = frozenset()
    reservable: bool = True
    health: Health = Health.HEALTHY
    down_since: datetime | None = None
    changed_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None

    @property
    def bookable(self) -> bool:
        """Say whether a new allocation may use this resource: it is healthy and still enrolled."""
        return self.reservable and self.deleted_at is None

    @property
    def label(self) -> str:
        """The name that a person knows this resource by: the last part of its reference, a hostname or an address."""
        return self.reference.rpartition("/")[2] or self.id

    @property
    def values(self) -> dict[str, Any]:
        """What property expressions can name: the operator's keys and the discovered columns, which take precedence."""
        return {**self.properties, **self.attributes, "id": self.id, "reservable": self.reservable}
