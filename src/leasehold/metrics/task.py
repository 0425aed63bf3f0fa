"""Work of the manager: how it went, how long it took, and how late it was begun."""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE = "done"
RETRIED = "retried"
FAILED = "failed"
LOST = "lost"
"""A bug or a lost database broke it off: it is tried again, and the log has the traceback."""

TASKS = Counter(
    "leasehold_tasks",
    "Pieces of work carried out. `retried` waits and is tried again, `failed` also shows in a lease, `lost` broke off.",
    ["kind", "phase", "outcome"],
)
LATE = Histogram(
    "leasehold_task_late_seconds",
    "Time between the moment when work was due and the moment when a thread began it.",
    ["kind"],
    buckets=(0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600),
)
SECONDS = Histogram(
    "leasehold_task_seconds",
    "Time that a piece of work took, its calls to the cloud included.",
    ["kind"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)


@contextmanager
def task_begun(kind: str, late_seconds: float) -> Iterator[None]:
    """Count how late the work in the block is and how long it takes."""
    LATE.labels(kind).observe(max(late_seconds, 0.0))
    begun = perf_counter()
    try:
        yield
    finally:
        SECONDS.labels(kind).observe(perf_counter() - begun)


def count_task(kind: str, phase: str, outcome: str) -> None:
    """Count what became of a piece of work; `phase` is "" where it broke off before anybody knew."""
    TASKS.labels(kind, phase, outcome).inc()
