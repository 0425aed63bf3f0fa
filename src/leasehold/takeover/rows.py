"""The rows of Blazar's database that we import, as its migrations define them: a class for each table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - `source` reads the field types at run time.
from typing import ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Row:
    """The columns that every table has. Datetimes are aware, in UTC.

    A class of rows is a frozen dataclass, too, and names its table.
    """

    table: ClassVar[str]

    id: str
    created_at: datetime | None
    updated_at: datetime | None

    def __init_subclass__(cls, table: str) -> None:
        cls.table = table
        dataclass(frozen=True, kw_only=True)(cls)


class HostRow(Row, table="computehosts"):
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


class PropertyRow(Row, table="resource_properties"):
    resource_type: str
    property_name: str
    private: bool


class CapabilityRow(Row, table="computehost_extra_capabilities"):
    computehost_id: str | None
    property_id: str
    capability_value: str


class InventoryRow(Row, table="computehost_resource_inventory"):
    computehost_id: str | None
    resource_class: str
    total: int
    reserved: int
    max_unit: int
    allocation_ratio: float


class TraitRow(Row, table="computehost_trait"):
    computehost_id: str | None
    trait: str


class FloatingIpRow(Row, table="floatingips"):
    floating_network_id: str
    subnet_id: str
    floating_ip_address: str
    reservable: bool


class LeaseRow(Row, table="leases"):
    name: str
    user_id: str | None
    project_id: str | None
    start_date: datetime
    end_date: datetime
    status: str | None
    degraded: bool


class EventRow(Row, table="events"):
    lease_id: str | None
    event_type: str | None
    time: datetime | None
    status: str | None


class ReservationRow(Row, table="reservations"):
    lease_id: str | None
    resource_id: str | None
    resource_type: str | None
    status: str | None
    missing_resources: bool
    resources_changed: bool


class HostReservationRow(Row, table="computehost_reservations"):
    reservation_id: str | None
    resource_properties: str | None
    hypervisor_properties: str | None
    count_range: str | None
    before_end: str | None
    aggregate_id: int | None


class InstanceReservationRow(Row, table="instance_reservations"):
    reservation_id: str | None
    vcpus: int
    memory_mb: int
    disk_gb: int
    amount: int
    affinity: bool | None
    aggregate_id: int | None
    server_group_id: str | None
    resource_properties: str | None


class FloatingIpReservationRow(Row, table="floatingip_reservations"):
    reservation_id: str | None
    network_id: str
    amount: int


class RequiredIpRow(Row, table="required_floatingips"):
    floatingip_reservation_id: str | None
    address: str


class HostAllocationRow(Row, table="computehost_allocations"):
    compute_host_id: str | None
    reservation_id: str | None


class FloatingIpAllocationRow(Row, table="floatingip_allocations"):
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
