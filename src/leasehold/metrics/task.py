"""Tasks of the manager: their outcome, their duration, and how late they began."""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DONE = "done"
RETRIED = "retried"
FAILED = "failed"
LOST = "lost"
"""A bug or a lost database ended the task early: it is retried, and the log has the traceback."""

TASKS = Counter(
    "leasehold_tasks",
    "Tasks run. `retried`: waits for a retry; `failed`: a lease shows it as well; `lost`: ended early by an error.",
    ["kind", "phase", "outcome"],
)
LATE = Histogram(
    "leasehold_task_late_seconds",
    "Time from the moment when a task was due to the moment when a thread began it.",
    ["kind"],
    buckets=(0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600),
)
SECONDS = Histogram(
    "leasehold_task_seconds",
    "Duration of a task, including its calls to the cloud.",
    ["kind"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)


@contextmanager
def task_begun(kind: str, late_seconds: float) -> Iterator[None]:
    """Record how late the task in the block is and how long it takes."""
    LATE.labels(kind).observe(max(late_seconds, 0.0))
    begun = perf_counter()
    try:
        yield
    finally:
        SECONDS.labels(kind).observe(perf_counter() - begun)


def count_task(kind: str, phase: str, outcome: str) -> None:
    """Count the outcome of a task; `phase` is "" if the task ended before its phase was known."""
    TASKS.labels(kind, phase, outcome).inc()


def expect_failures(kind: str, phases: Iterable[str]) -> None:
    """Have the series of failures of a kind of task at 0: Prometheus sees no increase in a series that begins at 1."""
    for phase in phases:
        TASKS.labels(kind, phase, FAILED)
    TASKS.labels(kind, "", LOST)
