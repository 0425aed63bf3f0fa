"""Findings and repairs of the periodic audit. A finding that remains is counted again in each round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable

MENDED = "mended"
LEFT = "left"
"""Not repaired, because a person must decide what to do; the log describes it."""

DONE = "done"
FAILED = "failed"
"""The cloud or the database could not be read completely; the next round starts again."""

FINDINGS = Counter(
    "leasehold_audit_findings",
    "Findings of the periodic audit: `mended` by itself, or `left` to a person. Counted again in each round.",
    ["kind", "outcome"],
)
ROUNDS = Counter(
    "leasehold_audit_rounds", "Rounds of the periodic audit: `done`, or `failed` before the end.", ["outcome"]
)


def count_finding(kind: str, outcome: str) -> None:
    """Count a finding of a round; `outcome` is MENDED or LEFT."""
    FINDINGS.labels(kind, outcome).inc()


def expect_findings(kinds: Iterable[str]) -> None:
    """Have the series of what is left to a person at 0: Prometheus sees no increase in a series that begins at 1."""
    for kind in kinds:
        FINDINGS.labels(kind, LEFT)


def count_round(outcome: str) -> None:
    """Count a round; `outcome` is DONE or FAILED."""
    ROUNDS.labels(outcome).inc()
