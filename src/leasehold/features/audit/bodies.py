"""Formats of the audit's report, from 1.3 on."""

from __future__ import annotations

from typing_extensions import TypedDict

from leasehold.api.models.base import answer


class FindingAnswer(TypedDict):
    """A difference, and what becomes of it.

    `repair` says what a repair does, and is null if only an operator can decide: `remedy` says what to do then.
    `repaired` says what the last round has done about it; the next round shows whether that has helped.
    """

    kind: str
    subject: str
    resource_type: str | None
    what: str
    remedy: str
    repair: str | None
    repaired: str | None
    found_at: str


class AuditAnswer(TypedDict):
    """The last round of the periodic audit; null where there was none, or it has not ended.

    `interval_seconds` is the time between two rounds; 0 means that there are none. `failure` says why the last round
    could not be completed; `findings` are then those of the last complete one.
    """

    interval_seconds: float
    began_at: str | None
    ended_at: str | None
    under_way: bool
    failure: str | None
    findings: list[FindingAnswer]


OneAudit = answer("OneAudit", "The answer about the audit.", audit=AuditAnswer)
