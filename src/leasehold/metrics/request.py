"""Requests to the API: how many, how they were answered, and how long that took."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
FULL, LATE, CLOUD = "full", "late", "cloud"
"""Why a request was not worked on: nobody else may wait, it has waited for too long, or too many wait for the cloud."""
OTHER = "other"
"""Any path that is no route, and any method that is not HTTP's: a stranger cannot make up new series."""

REQUESTS = Counter("leasehold_requests", "Requests answered.", ["route", "method", "status"])
SECONDS = Histogram(
    "leasehold_request_seconds",
    "Time from the first byte read by the application to the answer.",
    ["route", "method"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
SHED = Counter("leasehold_requests_shed", "Requests sent away with 503 because there were too many.", ["reason"])


def count_shed(reason: str) -> None:
    """Count one request that is not worked on."""
    SHED.labels(reason).inc()


def count_request(route: str | None, method: str, status: int, seconds: float) -> None:
    """Count one answered request; `route` is a path of the table, with its braces, or None where there is none."""
    route = route or OTHER
    method = method if method in METHODS else OTHER
    REQUESTS.labels(route, method, str(status)).inc()
    SECONDS.labels(route, method).observe(seconds)
