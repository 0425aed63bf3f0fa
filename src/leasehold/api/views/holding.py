"""What a lease has, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_wire, to_wire_or_none
from leasehold.api.versions import PLANNED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.api.models.holding import HolderAnswer, HoldingAnswer
    from leasehold.api.versions import Version
    from leasehold.leasing.reading.holding import AllocatedResource
    from leasehold.model.lease import Lease


def show_holdings(
    lease: Lease, found: Mapping[str, Sequence[AllocatedResource]], version: Version
) -> list[HolderAnswer]:
    """Return every reservation of the lease with its resources, the one it has had longest first.

    From 1.3 on each says when it is expected, if it is not there yet.
    """
    return [
        {
            "reservation_id": part.id,
            "resource_type": part.resource_type,
            "resources": [_show_holding(each, planned=version >= PLANNED) for each in found[part.id]],
        }
        for part in lease.reservations
    ]


def _show_holding(each: AllocatedResource, *, planned: bool) -> HoldingAnswer:
    held, resource = each.allocation, each.resource
    answer: HoldingAnswer = {
        "id": resource.id if each.named else None,
        "name": resource.label if each.named else None,
        "resource_type": resource.type,
        "health": resource.health if each.bound else None,
        "left": held.left_at is not None,
        "substitute": held.substitute,
        "slots": held.slots,
        "demand": None if held.demand is None else dict(held.demand),
        "start_date": to_wire(held.window.start),
        "end_date": to_wire(held.window.end),
        "capacity": dict(resource.capacity) if each.bound else {},
        "attributes": dict(each.attributes),
        "properties": dict(each.properties),
    }
    if planned:
        answer["expected_at"] = to_wire_or_none(resource.expected_at)
    return answer
