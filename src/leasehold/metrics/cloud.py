"""Calls to the cloud, by service. The adapters have one place through which all calls go; it counts them here."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

OK = "ok"
TRANSIENT = "transient"
PERMANENT = "permanent"
"""What became of a call: it did what was asked; worth another try; refused or gone for good."""

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
