"""Leases that tests need to be there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from leasehold_client.lease import LeaseRequest

if TYPE_CHECKING:
    from leasehold_client import Client
    from leasehold_client.lease import Lease

LASTS = timedelta(hours=3)


def minute() -> datetime:
    """Return when the current minute began."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def booked(client: Client, name: str, after: timedelta, amount: int = 1, **more: Any) -> Lease:
    """Book hosts for three hours, so long after now; at once if that is nothing. `more` are further keys of the API."""
    start = minute() + after
    texts = {"hypervisor_properties": "", "resource_properties": ""}
    host = {"resource_type": "physical:host", "min": amount, "max": amount, **texts}
    return client.leases.create(LeaseRequest(name, start if after else None, start + LASTS, [host], more=more))
