"""State gauges: leases, due work, hosts and addresses in the database. Read when Prometheus scrapes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ResourceGauges:
    """The enrolled resources of one type, each in one of four states, and how many are allocated to a lease now.

    `healthy` ones work, `disabled` ones work too and were disabled by an administrator, and `failed` ones do not.
    `shared` ones are not in the reservation pool, whether they work or not.
    """

    healthy: int
    failed: int
    held: int
    disabled: int = 0
    shared: int = 0


@dataclass(frozen=True, slots=True)
class StateGauges:
    """The values of the gauges; every process of the service reads the same values.

    Tasks that are `due` have not begun, those `claimed` are under way, those `retrying` failed and wait for a retry.
    """

    due: int
    claimed: int
    retrying: int
    oldest_due_seconds: float
    leases: Mapping[str, int]
    degraded: int
    resources: Mapping[str, ResourceGauges]


class StateGaugesCollector(Collector):
    """Turns the state gauges into samples. If they cannot be read, only `leasehold_database_up` is there, as 0."""

    def __init__(self, take: Callable[[], StateGauges]) -> None:
        """`take` reads the gauges; any exception of it means that the database cannot be read."""
        self._take = take

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Read the gauges and yield their samples."""
        try:
            gauges = self._take()
        except Exception:
            # Drivers raise many types of errors; the scrape goes on without the gauges of any earlier one.
            log.exception("The database cannot be read for the metrics.")
            yield GaugeMetricFamily("leasehold_database_up", _DATABASE_UP, value=0)
            return
        yield GaugeMetricFamily("leasehold_database_up", _DATABASE_UP, value=1)
        yield from _tasks(gauges)
        yield from _leases(gauges)
        yield _resources(gauges)


_DATABASE_UP = "1 when the database could be read for this answer, else 0."


def _tasks(gauges: StateGauges) -> Iterator[GaugeMetricFamily]:
    states = GaugeMetricFamily(
        "leasehold_tasks_waiting",
        "Work in the database: due and not begun, claimed by a manager, or waiting for another try.",
        labels=["state"],
    )
    for state, number in (("due", gauges.due), ("claimed", gauges.claimed), ("retrying", gauges.retrying)):
        states.add_metric([state], number)
    yield states
    yield GaugeMetricFamily(
        "leasehold_tasks_oldest_due_seconds",
        "Seconds that the oldest due work has waited for a manager; 0 when none waits.",
        value=gauges.oldest_due_seconds,
    )


def _leases(gauges: StateGauges) -> Iterator[GaugeMetricFamily]:
    leases = GaugeMetricFamily("leasehold_leases", "Leases that are not deleted, by status.", labels=["status"])
    for status, number in gauges.leases.items():
        leases.add_metric([status], number)
    yield leases
    yield GaugeMetricFamily(
        "leasehold_leases_degraded",
        "Leases that lost or changed resources when a host failed.",
        value=gauges.degraded,
    )


def _resources(gauges: StateGauges) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "leasehold_resources",
        "Enrolled hosts and floating IPs: `healthy`, `disabled`, `failed` or `shared`, and `held` by a lease now.",
        labels=["type", "state"],
    )
    for name, held in gauges.resources.items():
        states = {"healthy": held.healthy, "failed": held.failed, "disabled": held.disabled, "shared": held.shared}
        states["held"] = held.held
        for state, number in states.items():
            family.add_metric([name, state], number)
    return family
