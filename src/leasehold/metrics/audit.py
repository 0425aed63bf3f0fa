"""What the periodic audit finds and mends. A finding that stays is counted once a round."""

from __future__ import annotations

from prometheus_client import Counter

MENDED = "mended"
LEFT = "left"
"""Only a person can decide what becomes of it; the log says what it is."""

DONE = "done"
FAILED = "failed"
"""The cloud or the database could not be read to the end: the next round begins again."""

FINDINGS = Counter(
    "leasehold_audit_findings",
    "What the periodic audit found: `mended` by itself, or `left` to a person, in each round again.",
    ["kind", "outcome"],
)
ROUNDS = Counter(
    "leasehold_audit_rounds", "Rounds of the periodic audit: `done`, or `failed` before the end.", ["outcome"]
)


def count_finding(kind: str, outcome: str) -> None:
    """Count something that was found in a round, and whether it was mended."""
    FINDINGS.labels(kind, outcome).inc()


def count_round(outcome: str) -> None:
    """Count a round."""
    ROUNDS.labels(outcome).inc()
