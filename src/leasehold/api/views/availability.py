"""Availability, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.api.models.availability import AvailabilityAnswer
    from leasehold.leasing.availability import Availability


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
        "steps": {"from": _dates(found.moments), "free": list(found.free), "reserved": list(found.reserved)},
    }


def _dates(moments: Sequence[int]) -> list[str]:
    """Return seconds since the epoch as dates; numpy formats thousands of them in a millisecond."""
    found: list[str] = np.datetime_as_string(np.array(moments, "datetime64[s]"), timezone="UTC").tolist()
    return found
