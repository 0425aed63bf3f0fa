"""Decisions about leases: their outcome, the code of a refusal, and their duration."""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from prometheus_client import Counter, Histogram

from leasehold.model.errors import LeaseholdError

if TYPE_CHECKING:
    from collections.abc import Iterator

DECISIONS = Counter(
    "leasehold_decisions",
    "Decisions to create or amend a lease. A refusal has the code of its error; `failed` is a fault of the service.",
    ["operation", "outcome", "code"],
)
UNCOUNTED = Counter(
    "leasehold_refusals_uncounted",
    "Refusals that GET /v1/refusals does not count, because too many different ones came within seconds.",
)
SECONDS = Histogram(
    "leasehold_decision_seconds",
    "Duration of a decision, including the commit and lost races.",
    ["operation"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


@contextmanager
def decision(operation: str) -> Iterator[None]:
    """Count the outcome and the duration of the decision in the block, or in the decorated function."""
    begun = perf_counter()
    outcome, code = "granted", ""
    try:
        yield
    except LeaseholdError as error:
        outcome, code = "refused", error.code
        raise
    except Exception:
        outcome = "failed"
        raise
    finally:
        DECISIONS.labels(operation, outcome, code).inc()
        SECONDS.labels(operation).observe(perf_counter() - begun)
