"""Calls to the cloud, by service. All calls of the adapters go through one function, which counts them here."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

OK = "ok"
TRANSIENT = "transient"
PERMANENT = "permanent"
"""Outcomes of a call: it succeeded; it failed, and a retry may succeed; it was refused, or its object is gone."""

CALLS = Counter("leasehold_cloud_calls", "Calls to the cloud, by how they ended.", ["service", "outcome"])
SECONDS = Histogram(
    "leasehold_cloud_call_seconds",
    "Time that one call to the cloud took.",
    ["service"],
    buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)


def count_call(service: str, outcome: str, seconds: float) -> None:
    """Count one call to a service such as `nova` or `placement`; `outcome` is OK, TRANSIENT or PERMANENT."""
    CALLS.labels(service, outcome).inc()
    SECONDS.labels(service).observe(seconds)
