"""Availability, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.api import dates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.api.models.availability import AskableAnswer, AvailabilityAnswer, WindowList
    from leasehold.leasing.availability import Availability
    from leasehold.leasing.property import Askable
    from leasehold.leasing.window_search import Search


def show_availability(found: Availability) -> AvailabilityAnswer:
    """Return availability; times are in ISO 8601 with the zone, to the second."""
    return {
        "resource_type": found.resource_type,
        "unit": found.noun,
        "from": found.window.start.isoformat(),
        "to": found.window.end.isoformat(),
        "total": found.total,
        "held_back": found.held_back,
        "throughout": found.throughout,
        "steps": {
            "from": dates.show_moments(found.moments),
            "free": list(found.free),
            "reserved": list(found.reserved),
        },
    }


def show_search(found: Search, alternatives: Sequence[Sequence[Mapping[str, Any]]]) -> WindowList:
    """Return the windows of a search, and why the other alternatives have none; `alternatives` is what was asked."""
    return {
        "windows": [
            {
                "alternative": each.alternative,
                "start_date": each.window.start.isoformat(),
                "end_date": each.window.end.isoformat(),
                "reservations": [
                    {"resource_type": part["resource_type"], "amount": amount}
                    for part, amount in zip(alternatives[each.alternative], each.amounts, strict=True)
                ],
            }
            for each in found.windows
        ],
        "refused": [
            {"alternative": number, "error_message": error.message, "code": error.code, "details": error.details}
            for number, error in sorted(found.refused.items())
        ],
    }


def show_askable(found: Askable) -> AskableAnswer:
    """Return a property by which leases can choose."""
    return {"property": found.name, "values": list(found.values), "left_out": found.left_out}
