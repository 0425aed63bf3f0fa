"""Deliveries of events, by channel and outcome."""

from __future__ import annotations

from prometheus_client import Counter

DELIVERED = "delivered"
FAILED = "failed"
DEAD = "dead"
SUSPENDED = "suspended"

DELIVERIES = Counter(
    "leasehold_deliveries",
    "Tries to deliver an event. `failed`: tried again; `dead`: refused so often that it became a dead letter; "
    "`suspended`: failed for so long that its subscription was suspended.",
    ["channel", "outcome"],
)


def count_delivery(channel: str, outcome: str) -> None:
    """Count one try."""
    DELIVERIES.labels(channel, outcome).inc()
