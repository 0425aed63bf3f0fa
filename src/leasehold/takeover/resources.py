"""Blazar's hosts, properties and floating IPs as resources of our database."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import Inventory
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST, HOST_POOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.takeover.findings import Findings
    from leasehold.takeover.rows import BlazarRows, CapabilityRow, FloatingIpRow, HostRow, InventoryRow, PropertyRow

LONGEST_PROPERTY = 64
"""In characters: the limit of v1 (contract resources §1.1), which Blazar does not check on an update."""

_ATTRIBUTES = (
    *("hypervisor_hostname", "hypervisor_type", "hypervisor_version", "service_name", "vcpus", "memory_mb", "local_gb"),
    *("cpu_info", "availability_zone"),
)
"""The columns of a host that are its attributes here."""


@dataclass(frozen=True, slots=True)
class NewResource:
    """A resource to be written: its columns, the operator's own properties, and `also`, the ids of duplicate rows."""

    values: Mapping[str, Any]
    properties: Mapping[str, str]
    also: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Type and id, by which Blazar's rows refer to it."""
        return self.values["type"], self.values["id"]

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """All keys by which Blazar's rows may refer to it."""
        return tuple((self.values["type"], ident) for ident in (self.values["id"], *self.also))


def property_definitions(rows: BlazarRows, findings: Findings) -> list[PropertyRow]:
    """Return the property definitions that can be imported; add a finding for each name that is too long."""
    taken = []
    for row in rows.properties:
        if len(row.property_name) <= LONGEST_PROPERTY:
            taken.append(row)
        else:
            what = f"The property {row.property_name} has more than {LONGEST_PROPERTY} characters and is left out."
            findings.add(row, what, "Give its hosts a property with a shorter name.")
    return taken


def hosts(rows: BlazarRows, definitions: Sequence[PropertyRow], now: datetime, findings: Findings) -> list[NewResource]:
    """Return the hosts, with their properties, capacity and traits."""
    inventories: dict[str | None, list[InventoryRow]] = defaultdict(list)
    for inventory in rows.inventories:
        inventories[inventory.computehost_id].append(_with_ratio(inventory, findings))
    traits: dict[str | None, set[str]] = defaultdict(set)
    for each in rows.traits:
        traits[each.computehost_id].add(each.trait)
    properties = _properties(rows, definitions, findings)
    found, names = [], set()
    behind: dict[str, str] = {}
    for row in rows.hosts:
        if not row.hypervisor_hostname or not row.service_name or row.hypervisor_hostname in names:
            what = f"Host {row.id} ({row.hypervisor_hostname}) has no name of its own and is left out."
            findings.add(row, what, "Enrol it again after the import: openstack reservation host create HOSTNAME.")
            continue
        first = behind.setdefault(row.service_name, row.hypervisor_hostname)
        if first != row.hypervisor_hostname:
            what = f"Host {row.id} ({row.hypervisor_hostname}) is behind the service {row.service_name}, as {first}"
            what = f"{what} is: a lease of one would get both. It is left out."
            findings.add(row, what, "Give it a nova-compute of its own, and enrol it after the import.")
            continue
        names.add(row.hypervisor_hostname)
        values = _host(row, inventories[row.id], sorted(traits[row.id]), now)
        own = {name: value for name, value in properties[row.id].items() if name not in values["attributes"]}
        found.append(NewResource(values, own))
    return found


def _with_ratio(row: InventoryRow, findings: Findings) -> InventoryRow:
    """Return an inventory with a ratio that can be counted with."""
    if math.isfinite(row.allocation_ratio):
        return row
    what = f"Host {row.computehost_id} has {row.resource_class} with the allocation ratio {row.allocation_ratio}."
    findings.add(row, f"{what} It is read as 1.0.", "Nothing, if Placement has another one: it is read there later.")
    return replace(row, allocation_ratio=1.0)


def _host(row: HostRow, inventories: Sequence[InventoryRow], traits: list[str], now: datetime) -> dict[str, Any]:
    raw = {"VCPU": row.vcpus, "MEMORY_MB": row.memory_mb, "DISK_GB": row.local_gb}
    offered = {
        each.resource_class: Inventory(
            each.total, each.reserved, max_unit=each.max_unit, allocation_ratio=each.allocation_ratio
        )
        for each in inventories
    }
    return {
        "id": row.id,
        "type": HOST,
        "pool": HOST_POOL,
        "reference": row.hypervisor_hostname,
        "capacity": raw | {name: inventory.capacity for name, inventory in offered.items()},
        "max_unit": {name: inventory.max_unit for name, inventory in offered.items()},
        "attributes": {**{name: getattr(row, name) for name in _ATTRIBUTES}, "status": None, "trust_id": None},
        "traits": traits,
        "reservable": row.reservable,
        "created_at": row.created_at or now,
        "updated_at": row.updated_at,
    }


def _properties(
    rows: BlazarRows, definitions: Sequence[PropertyRow], findings: Findings
) -> dict[str | None, dict[str, str]]:
    """Return each host's properties; of several values of one property, the last that was written."""
    names = {row.id: row.property_name for row in definitions}
    there = {row.id for row in rows.hosts}
    last: dict[tuple[str | None, str], CapabilityRow] = {}
    for row in rows.capabilities:
        if row.property_id not in names or row.computehost_id not in there:
            what = f"The value {row.capability_value!r} belongs to no host or property that is imported."
            findings.add(row, what, "Nothing; it had no effect in Blazar, or its property is named above.")
            continue
        key = (row.computehost_id, names[row.property_id])
        old = last.get(key)
        if old is not None:
            what = f"Host {key[0]} has another, older value {old.capability_value!r} of {key[1]}, which is left out."
            findings.add(old, what, "Check the property: openstack reservation host show HOST.")
        last[key] = row
    found: dict[str | None, dict[str, str]] = defaultdict(dict)
    for (host, name), row in last.items():
        found[host][name] = row.capability_value
    return found


def floating_ips(rows: BlazarRows, now: datetime, findings: Findings) -> list[NewResource]:
    """Return the floating IPs."""
    found: dict[str, NewResource] = {}
    for row in rows.floating_ips:
        try:
            address = str(ip_address(row.floating_ip_address))
        except ValueError:
            what = f"{row.floating_ip_address!r} is no IP address, so the row is left out."
            findings.add(row, what, "Nothing; no lease can use it.")
            continue
        values = _floating_ip(row, address, now)
        first = found.get(values["reference"])
        if first is None:
            found[values["reference"]] = NewResource(values, {})
            continue
        found[values["reference"]] = replace(first, also=(*first.also, row.id))
        what = f"The address {row.floating_ip_address} is enrolled twice, in another spelling as {first.values['id']}."
        findings.add(row, what, "Nothing; it is imported once, with the allocations of both rows.")
    return list(found.values())


def _floating_ip(row: FloatingIpRow, address: str, now: datetime) -> dict[str, Any]:
    return {
        "id": row.id,
        "type": FLOATING_IP,
        "pool": FLOATING_IP_POOL,
        "reference": f"{row.subnet_id}/{address}",
        "capacity": {},
        "max_unit": {},
        "attributes": {
            "floating_network_id": row.floating_network_id,
            "subnet_id": row.subnet_id,
            "floating_ip_address": address,
        },
        "traits": [],
        "reservable": row.reservable,
        "created_at": row.created_at or now,
        "updated_at": row.updated_at,
    }
