"""Requests to the API: their number, their statuses, their durations, and how many were shed."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
FULL, LATE, CLOUD = "full", "late", "cloud"
"""Why a request was shed: the queue is full, it waited too long, or too many requests wait for the cloud."""
OTHER = "other"
"""The label of unknown paths and methods, so that clients cannot create new series."""

REQUESTS = Counter("leasehold_requests", "Requests answered.", ["route", "method", "status"])
SECONDS = Histogram(
    "leasehold_request_seconds",
    "Time from the start of the request in the application to its answer.",
    ["route", "method"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
SHED = Counter("leasehold_requests_shed", "Requests shed with a 503 because there were too many.", ["reason"])


def count_shed(reason: str) -> None:
    """Count a request that is shed; `reason` is FULL, LATE or CLOUD."""
    SHED.labels(reason).inc()


def count_request(route: str | None, method: str, status: int, seconds: float) -> None:
    """Count an answered request; `route` is a path of the table, with its braces, or None for an unknown path."""
    route = route or OTHER
    method = method if method in METHODS else OTHER
    REQUESTS.labels(route, method, str(status)).inc()
    SECONDS.labels(route, method).observe(seconds)
