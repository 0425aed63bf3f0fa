"""Blazar's allocations as allocations of our database, without double bookings.

Blazar can allocate one resource to two leases when two requests arrive together. An allocation in use always stays. Of
the others the older one stays; the younger one is left out, its reservation is marked as missing resources, and a
finding tells the operator.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.allocation import taken_by
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.model.states import LeaseStatus, ReservationStatus
from leasehold.model.windows import Window
from leasehold.resource_types.flavor.kind import FlavorKind
from leasehold.resource_types.instance.kind import InstanceKind
from leasehold.takeover.findings import ImportFinding
from leasehold.takeover.requests import FLAVOR, INSTANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.takeover.findings import Findings
    from leasehold.takeover.resources import NewResource
    from leasehold.takeover.rows import BlazarRows, FloatingIpAllocationRow, HostAllocationRow, Row

Key = tuple[str, str]

_PROMISED = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE})
"""Leases that must have all the resources that they asked for."""


@dataclass(frozen=True, slots=True)
class NewAllocation:
    """An allocation to be written, and Blazar's rows that it is made of."""

    resource: Key
    part: Reservation
    lease: Lease
    window: Window
    demand: Mapping[str, int] | None
    rows: tuple[Row, ...]
    released_at: datetime | None
    now: datetime

    @property
    def slots(self) -> int:
        """The number of slots of the resource; Blazar stores one row for each slot."""
        return 1 if self.demand is None else len(self.rows)

    @property
    def running(self) -> bool:
        """Say whether the reservation uses the resource now."""
        return self.part.status is ReservationStatus.ACTIVE and self.released_at is None

    @property
    def stays(self) -> bool:
        """Say whether the allocation is in use within its window; such an allocation is never dropped."""
        return self.running and not self.over

    @property
    def over(self) -> bool:
        """Say whether the window has ended although the resource is not released."""
        return self.window.end <= self.now and self.released_at is None

    def meets(self, other: NewAllocation) -> bool:
        """Say whether the windows overlap; an overdue allocation also conflicts with any that is in use."""
        if (self.over and other.running) or (other.over and self.running):
            return True
        return self.window.start < other.window.end and other.window.start < self.window.end


@dataclass(frozen=True, slots=True)
class KeptAllocations:
    """The allocations to write, and the ids of the reservations that get less than Blazar allocated to them."""

    kept: Sequence[NewAllocation]
    short: frozenset[str]


def allocations(
    rows: BlazarRows, leases: Sequence[Lease], resources: Iterable[NewResource], now: datetime, findings: Findings
) -> KeptAllocations:
    """Return the allocations without double bookings; add a finding for each conflict."""
    by_key = {resource.key: resource for resource in resources}
    candidates: dict[Key, list[NewAllocation]] = defaultdict(list)
    keys = {(kind, ident): each.key for each in by_key.values() for kind, ident in each.keys}
    for each in _read(rows, leases, keys, now, findings):
        candidates[each.resource].append(each)
    kept: list[NewAllocation] = []
    short: set[str] = set()
    for key, each_of in candidates.items():
        room = _room(by_key[key])
        here: list[NewAllocation] = []
        for each in sorted(each_of, key=_seniority):
            rival = None if each.released_at else _rival(each, here, room)
            if rival is None:
                here.append(each)
                continue
            _note(each, rival, by_key[key], findings)
            if each.stays:
                here.append(each)
            else:
                short.add(each.part.id)
        kept.extend(here)
    short |= _lacking(leases, kept, short, now, findings)
    return KeptAllocations(kept, frozenset(short))


def _lacking(
    leases: Iterable[Lease], kept: Iterable[NewAllocation], known: set[str], now: datetime, findings: Findings
) -> set[str]:
    """Return the reservations with too few rows in Blazar, for example after a host was removed or a step was lost."""
    slots: Counter[str] = Counter()
    for allocation in kept:
        slots[allocation.part.id] += allocation.slots
    found = set()
    for lease in (each for each in leases if each.status in _PROMISED and each.window.end > now):
        for part in lease.reservations:
            least = part.request["min" if part.resource_type == HOST else "amount"]
            if slots[part.id] < least and not part.missing_resources and part.id not in known:
                what = f"The reservation of lease {lease.name} asks for {least} and has {slots[part.id]} in Blazar."
                remedy = "It is marked missing_resources; ask for the rest with openstack reservation lease set."
                if part.status is ReservationStatus.ACTIVE:
                    remedy += " When the manager starts, it removes anything else the reservation has in the cloud."
                findings.entries.append(ImportFinding("reservations", part.id, what, remedy))
                found.add(part.id)
    return found


def _seniority(allocation: NewAllocation) -> tuple[bool, bool, str, str]:
    first = allocation.rows[0]
    return (not allocation.running, allocation.over, str(first.created_at or ""), first.id)


# ---------------------------------------------------------------- reading


def _read(
    rows: BlazarRows, leases: Iterable[Lease], known: Mapping[Key, Key], now: datetime, findings: Findings
) -> Iterable[NewAllocation]:
    """Yield the allocations; `known` maps each key that a row may use to the key of the resource."""
    parts = {part.id: (lease, part) for lease in leases for part in lease.reservations}
    grouped: dict[tuple[Key, str], list[Row]] = defaultdict(list)
    for row, key in _allocated(rows):
        if row.reservation_id not in parts or key not in known:
            lacking = "reservation" if row.reservation_id not in parts else "host or address"
            what = f"An allocation of {key[1]} to reservation {row.reservation_id} has no {lacking} in the import."
            findings.add(row, what, "Nothing, unless its reservation or host is named above.")
        else:
            grouped[known[key], row.reservation_id or ""].append(row)
    for (key, reservation_id), found in grouped.items():
        lease, part = parts[reservation_id]
        yield _allocation(key, lease, part, tuple(found), now)


def _allocated(rows: BlazarRows) -> Iterable[tuple[HostAllocationRow | FloatingIpAllocationRow, Key]]:
    for host in rows.host_allocations:
        yield host, (HOST, host.compute_host_id or "")
    for address in rows.floating_ip_allocations:
        yield address, (FLOATING_IP, address.floatingip_id or "")


def _allocation(key: Key, lease: Lease, part: Reservation, rows: tuple[Row, ...], now: datetime) -> NewAllocation:
    over = lease.status is LeaseStatus.TERMINATED or part.status is ReservationStatus.DELETED
    window, released_at = lease.window, None
    if over:
        # Blazar keeps the row of an address as long as the lease; after the end it is only history.
        end = max(window.start, min(window.end, now))
        window, released_at = Window(window.start, end), min(lease.updated_at or end, now)
    return NewAllocation(key, part, lease, window, _demand(part), rows, released_at, now)


def _demand(part: Reservation) -> Mapping[str, int] | None:
    if part.resource_type == INSTANCE:
        return InstanceKind().load(part.request).demand
    return FlavorKind().load(part.request).demand if part.resource_type == FLAVOR else None


# ---------------------------------------------------------------- judging


def _room(resource: NewResource) -> dict[str, int]:
    """Return the larger of raw and Placement capacity: Blazar counts instances by the first, flavors by the second."""
    attributes = resource.values["attributes"]
    raw = {
        "VCPU": attributes.get("vcpus", 0),
        "MEMORY_MB": attributes.get("memory_mb", 0),
        "DISK_GB": attributes.get("local_gb", 0),
    }
    offered = resource.values["capacity"]
    return {name: max(raw.get(name, 0), offered.get(name, 0)) for name in {*raw, *offered}}


def _rival(allocation: NewAllocation, here: Sequence[NewAllocation], room: Mapping[str, int]) -> NewAllocation | None:
    """Return the allocation in `here` that conflicts with this one; None when the resource has room for both."""
    met = [each for each in here if each.released_at is None and each.meets(allocation)]
    whole = next((each for each in met if each.demand is None or allocation.demand is None), None)
    return whole or _crowding(allocation, met, room)


def _crowding(allocation: NewAllocation, met: Sequence[NewAllocation], room: Mapping[str, int]) -> NewAllocation | None:
    """Return one of those with which this allocation needs more at some moment than the resource has."""
    begin = allocation.window.start
    for moment in (begin, *(each.window.start for each in met if each.window.start > begin)):
        at_once = [each for each in met if each.window.start <= moment < each.window.end]
        taken = taken_by((allocation, *at_once))
        if at_once and any(amount > room.get(name, 0) for name, amount in taken.items()):
            return at_once[-1]
    return None


def _note(allocation: NewAllocation, rival: NewAllocation, resource: NewResource, findings: Findings) -> None:
    label = resource.values["attributes"].get("hypervisor_hostname") or resource.values["reference"]
    span = f"{allocation.window.start:%Y-%m-%d %H:%M} to {allocation.window.end:%Y-%m-%d %H:%M} UTC"
    both = f"Blazar promised {label} twice: to lease {rival.lease.name} ({rival.lease.id}) and to lease "
    mine = f"{allocation.lease.name} ({allocation.lease.id}), {span}. "
    if allocation.stays:
        fate = "Both are in use, so both stay."
        remedy = "Before you start the manager, decide with the owners which of the two leases to delete, or keep both."
    else:
        fate = f"The first keeps it; reservation {allocation.part.id} of the second is marked missing_resources."
        remedy = (
            "Ask for another before it starts (openstack reservation lease set --reservation "
            f"id={allocation.part.id},... {allocation.lease.id}, with what the reservation asked for), or delete one "
            "of the two leases."
        )
    findings.add(allocation.rows[0], both + mine + fate, remedy)
