"""What a lease has: its resources, as far as the caller may know them (feature J7, decision 0049)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leasehold.db.resources.property import private_keys
from leasehold.db.resources.resource import resources_by_number
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import EPOCH, Window

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.caller import Sight
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Kind


@dataclass(frozen=True, slots=True)
class AllocatedResource:
    """An allocation with its resource.

    `named` says whether the caller may know which resource it is; `attributes` and `properties` are those that the
    caller may see. `bound` False means that the lease may still get another one unseen: then the caller sees nothing of
    it, and all slots of a reservation are in one holding.
    """

    allocation: Allocation
    resource: Resource
    named: bool
    attributes: Mapping[str, Any]
    properties: Mapping[str, str]
    bound: bool = True


def list_holdings(service: Service, lease: Lease, sight: Sight) -> Mapping[str, Sequence[AllocatedResource]]:
    """Return by reservation id the resources that are not released, vacated ones included; two statements at most."""
    unreleased = {
        part.id: [held for held in part.allocations if held.released_at is None] for part in lease.reservations
    }
    numbers = {held.resource_number for part in unreleased.values() for held in part}
    private: Collection[tuple[str, str]] = ()
    with service.db.reading() as connection:
        resources = resources_by_number(connection, numbers)
        if resources and not sight.private:
            private = private_keys(connection, {each.type for each in resources.values()})
    now, found = service.now(), {}
    for part in lease.reservations:
        shown = [
            _holding(service, _until_its_end(each, lease), resources[each.resource_number], private, sight)
            for each in unreleased[part.id]
        ]
        found[part.id] = shown if sight.hosts or not may_move(service, lease, part, now) else _unbound(shown)
    return found


def may_move(service: Service, lease: Lease, part: Reservation, now: datetime) -> bool:
    """Say whether late binding may give a reservation other resources (feature A9), as `db/leases/rebinding.py` does.

    An offer keeps its resources, but what becomes of it may get others.
    """
    leases, found = service.settings.leases, service.types.find(part.resource_type)
    if not leases.rebinding_seconds or found is None or found.kind.public or not found.kind.healed:
        return False
    flagged = lease.degraded or lease.at_risk or part.missing_resources or part.resources_changed
    unstarted = lease.status in (LeaseStatus.PENDING, LeaseStatus.OFFERED)
    return unstarted and not flagged and lease.begins > now + leases.rebind_before_start


def _until_its_end(held: Allocation, lease: Lease) -> Allocation:
    """Return an allocation as its owner has it: a sub-lease has it up to its own end, not to that of its lender."""
    if lease.lent is None:
        return held
    return replace(held, window=Window(held.window.start, max(held.window.start, lease.window.end)))


def _unbound(shown: Sequence[AllocatedResource]) -> list[AllocatedResource]:
    """Return the holdings as they are whichever resources they are: whole ones each alone, and all slots together."""
    blank = [replace(each, attributes={}, properties={}, bound=False) for each in shown]
    whole = [each for each in blank if each.allocation.demand is None]
    slots = [each for each in blank if each.allocation.demand is not None]
    if slots:
        first = max(slots, key=lambda each: each.resource.expected_at or EPOCH)
        total = sum(each.allocation.slots for each in slots)
        whole.append(replace(first, allocation=replace(first.allocation, slots=total)))
    return whole


def _holding(
    service: Service, held: Allocation, resource: Resource, private: Collection[tuple[str, str]], sight: Sight
) -> AllocatedResource:
    """Return a holding as the caller sees it; the type that a resource is enrolled as says what identifies it."""
    found = service.types.find(resource.type)
    named = sight.hosts or (found is not None and found.kind.public)
    attributes = resource.attributes if named else _anonymous(resource, None if found is None else found.kind)
    return AllocatedResource(
        held,
        resource,
        named,
        {name: value for name, value in attributes.items() if (resource.type, name) not in private},
        {name: value for name, value in resource.properties.items() if (resource.type, name) not in private},
    )


def _anonymous(resource: Resource, kind: Kind[Any] | None) -> Mapping[str, Any]:
    """Return the attributes that do not identify a resource: none if its plugin cannot say which those are."""
    if kind is None:
        return {}
    return {name: value for name, value in resource.attributes.items() if name not in kind.identifying}
