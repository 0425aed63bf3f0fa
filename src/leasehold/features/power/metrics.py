"""Sleeping hosts: what was switched, what failed, and how many leases started late because of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

SWITCHED = Counter("leasehold_power_switched", "Commands sent to machines.", ["machine_class", "command"])
FAILED = Counter(
    "leasehold_power_failed", "Machines that could not be switched, and stay on from then on.", ["machine_class"]
)
LATE = Counter("leasehold_power_late_starts", "Leases that started late because a host was not awake in time.")
DELAYED = Counter(
    "leasehold_power_delayed_requests",
    "Requests that were refused, or granted for later, and would have been granted if no host had slept.",
)
UNCOUNTED = Counter(
    "leasehold_power_delays_uncounted",
    "Delays that GET /v1/power/report does not count, because too many different ones came within seconds.",
)
WAKE_SECONDS = Gauge(
    "leasehold_power_wake_seconds", "How long a machine takes to wake up at most, as learned.", ["machine_class"]
)


def show_margins(margins: Mapping[str, timedelta]) -> None:
    """Show how long the machines of each class take, and that none has failed yet: no increase is seen from nothing."""
    for name, takes in margins.items():
        FAILED.labels(name)
        WAKE_SECONDS.labels(name).set(takes.total_seconds())
