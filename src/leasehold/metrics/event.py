"""The events of the log: how many there were of each type, and how long readers waited for them."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

EVENTS = Counter("leasehold_events", "Events that were put in order, by type. Readers see them from then on.", ["type"])
LAG = Histogram(
    "leasehold_event_lag_seconds",
    "Time from an event to the moment when readers see it.",
    buckets=(0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600),
)


def count_event(kind: str, lag_seconds: float) -> None:
    """Count an event of a type of the log, such as `lease.create`."""
    EVENTS.labels(kind).inc()
    LAG.observe(max(lag_seconds, 0.0))
