"""The whole import as a value: what will be written, and the findings for the operator. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from leasehold.takeover import resources
from leasehold.takeover.allocations import allocations
from leasehold.takeover.findings import Findings, ImportFinding
from leasehold.takeover.leases import LeaseReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.takeover.allocations import NewAllocation
    from leasehold.takeover.resources import NewResource
    from leasehold.takeover.rows import BlazarRows, PropertyRow, Row


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What the import writes into the database, and the findings."""

    definitions: Sequence[PropertyRow]
    resources: Sequence[NewResource]
    leases: Sequence[Lease]
    allocations: Sequence[NewAllocation]
    findings: Sequence[ImportFinding]

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of imported objects by kind, as the report prints them."""
        return {
            "hosts": sum(each.values["type"] == "physical:host" for each in self.resources),
            "host properties": len(self.definitions),
            "floating IPs": sum(each.values["type"] == "virtual:floatingip" for each in self.resources),
            "leases": len(self.leases),
            "reservations": sum(len(lease.reservations) for lease in self.leases),
            "allocations": sum(allocation.slots for allocation in self.allocations),
            "events": sum(len(lease.events) for lease in self.leases),
        }


def make_plan(rows: BlazarRows, now: datetime) -> ImportPlan:
    """Return the plan of an import of these rows at `now`."""
    findings = Findings()
    _orphans(rows, findings)
    definitions = resources.property_definitions(rows, findings)
    found = [*resources.hosts(rows, definitions, now, findings), *resources.floating_ips(rows, now, findings)]
    leases = LeaseReader(rows, now, findings).all()
    allocated = allocations(rows, leases, found, now, findings)
    return ImportPlan(
        definitions, found, [_flagged(lease, allocated.short) for lease in leases], allocated.kept, findings.entries
    )


def _flagged(lease: Lease, short: Iterable[str]) -> Lease:
    mine = {part.id for part in lease.reservations} & set(short)
    return replace(lease.with_reservations(mine, missing_resources=True), degraded=True) if mine else lease


def _orphans(rows: BlazarRows, findings: Findings) -> None:
    """Add a finding for each row without an owner; allocations and property values are checked where they are read."""
    of_reservations = (rows.host_reservations, rows.instance_reservations, rows.floating_ip_reservations)
    belonging: list[tuple[str, Sequence[Row], str, Iterable[Row]]] = [
        ("lease", rows.leases, "lease_id", chain(rows.events, rows.reservations)),
        ("reservation", rows.reservations, "reservation_id", chain(*of_reservations)),
        ("reservation", rows.floating_ip_reservations, "floatingip_reservation_id", rows.required_ips),
        ("host", rows.hosts, "computehost_id", chain(rows.inventories, rows.traits)),
    ]
    for kind, owners, key, owned in belonging:
        there = {each.id for each in owners}
        for row in owned:
            owner = getattr(row, key)
            if owner not in there:
                what = f"The row belongs to {kind} {owner}, which does not exist; it is left out."
                findings.add(row, what, "Nothing; it had no effect in Blazar either.")
