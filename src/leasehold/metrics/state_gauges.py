"""What the database holds now: leases, work that is due, hosts and addresses. Read when Prometheus asks."""

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
    """The enrolled resources of one type: how many work, how many have failed, how many a lease holds now."""

    healthy: int
    failed: int
    held: int


@dataclass(frozen=True, slots=True)
class StateGauges:
    """What was counted, the same whichever process of the service counts it.

    `due` work nobody has begun, `claimed` is being done, `retrying` failed and waits for another try.
    """

    due: int
    claimed: int
    retrying: int
    oldest_due_seconds: float
    leases: Mapping[str, int]
    degraded: int
    resources: Mapping[str, ResourceGauges]


class StateGaugesCollector(Collector):
    """Turns a census into samples. Where none can be taken, `leasehold_database_up` is 0 and the others are absent."""

    def __init__(self, take: Callable[[], StateGauges]) -> None:
        """`take` reads the database; whatever it raises means that it cannot be read."""
        self._take = take

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Take a census and yield its samples."""
        try:
            gauges = self._take()
        except Exception:
            # Whatever it is that a driver raises, what was counted before is gone and the scrape goes on.
            log.exception("The database cannot be counted for the metrics.")
            yield GaugeMetricFamily("leasehold_database_up", _BOOKS_UP, value=0)
            return
        yield GaugeMetricFamily("leasehold_database_up", _BOOKS_UP, value=1)
        yield from _tasks(gauges)
        yield from _leases(gauges)
        yield _resources(gauges)


_BOOKS_UP = "1 when the database could be read for this answer, else 0."


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
        "For how long the work that is due longest has waited for a manager; 0 when none waits.",
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
        "Enrolled hosts and floating IPs: healthy or failed, and held by a lease now or free.",
        labels=["type", "state"],
    )
    for name, held in gauges.resources.items():
        states = {"healthy": held.healthy, "failed": held.failed, "held": held.held}
        for state, number in states.items():
            family.add_metric([name, state], number)
    return family
