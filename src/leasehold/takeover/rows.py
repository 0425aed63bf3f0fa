"""The rows of Blazar's database that we import, as its migrations define them: a class for each table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - `source` reads the field types at run time.
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The columns that every table has. Datetimes are aware, in UTC."""

    table: ClassVar[str]

    id: str
    created_at: datetime | None
    updated_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow(Row):
    table: ClassVar[str] = "computehosts"

    vcpus: int
    cpu_info: str
    hypervisor_type: str
    hypervisor_version: int
    hypervisor_hostname: str | None
    memory_mb: int
    local_gb: int
    service_name: str | None
    availability_zone: str
    reservable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyRow(Row):
    table: ClassVar[str] = "resource_properties"

    resource_type: str
    property_name: str
    private: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityRow(Row):
    table: ClassVar[str] = "computehost_extra_capabilities"

    computehost_id: str | None
    property_id: str
    capability_value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRow(Row):
    table: ClassVar[str] = "computehost_resource_inventory"

    computehost_id: str | None
    resource_class: str
    total: int
    reserved: int
    max_unit: int
    allocation_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitRow(Row):
    table: ClassVar[str] = "computehost_trait"

    computehost_id: str | None
    trait: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatingIpRow(Row):
    table: ClassVar[str] = "floatingips"

    floating_network_id: str
    subnet_id: str
    floating_ip_address: str
    reservable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow(Row):
    table: ClassVar[str] = "leases"

    name: str
    user_id: str | None
    project_id: str | None
    start_date: datetime
    end_date: datetime
    status: str | None
    degraded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow(Row):
    table: ClassVar[str] = "events"

    lease_id: str | None
    event_type: str | None
    time: datetime | None
    status: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationRow(Row):
    table: ClassVar[str] = "reservations"

    lease_id: str | None
    resource_id: str | None
    resource_type: str | None
    status: str | None
    missing_resources: bool
    resources_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReservationRow(Row):
    table: ClassVar[str] = "computehost_reservations"

    reservation_id: str | None
    resource_properties: str | None
    hypervisor_properties: str | None
    count_range: str | None
    before_end: str | None
    aggregate_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceReservationRow(Row):
    table: ClassVar[str] = "instance_reservations"

    reservation_id: str | None
    vcpus: int
    memory_mb: int
    disk_gb: int
    amount: int
    affinity: bool | None
    aggregate_id: int | None
    server_group_id: str | None
    resource_properties: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatingIpReservationRow(Row):
    table: ClassVar[str] = "floatingip_reservations"

    reservation_id: str | None
    network_id: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredIpRow(Row):
    table: ClassVar[str] = "required_floatingips"

    floatingip_reservation_id: str | None
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAllocationRow(Row):
    table: ClassVar[str] = "computehost_allocations"

    compute_host_id: str | None
    reservation_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatingIpAllocationRow(Row):
    table: ClassVar[str] = "floatingip_allocations"

    floatingip_id: str | None
    reservation_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlazarRows:
    """All rows of one snapshot; each table oldest first."""

    hosts: tuple[HostRow, ...]
    properties: tuple[PropertyRow, ...]
    capabilities: tuple[CapabilityRow, ...]
    inventories: tuple[InventoryRow, ...]
    traits: tuple[TraitRow, ...]
    floating_ips: tuple[FloatingIpRow, ...]
    leases: tuple[LeaseRow, ...]
    events: tuple[EventRow, ...]
    reservations: tuple[ReservationRow, ...]
    host_reservations: tuple[HostReservationRow, ...]
    instance_reservations: tuple[InstanceReservationRow, ...]
    floating_ip_reservations: tuple[FloatingIpReservationRow, ...]
    required_ips: tuple[RequiredIpRow, ...]
    host_allocations: tuple[HostAllocationRow, ...]
    floating_ip_allocations: tuple[FloatingIpAllocationRow, ...]
