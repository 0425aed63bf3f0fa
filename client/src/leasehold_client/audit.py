"""What the periodic audit has found, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.transport import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Finding(AnswerModel):
    """A difference: `repair` says what a repair does (None: only a person can decide, `remedy` says how)."""

    kind: str
    subject: str
    what: str
    remedy: str
    repair: str | None
    repaired: str | None
    found_at: datetime


@dataclass(frozen=True, slots=True)
class AuditReport(AnswerModel):
    """The last round: None where there was none or it has not ended; `failure` says why it was not completed."""

    began_at: datetime | None
    ended_at: datetime | None
    under_way: bool
    failure: str | None
    findings: Sequence[Finding]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> AuditReport:
        return read_as(cls, values, findings=[Finding.read(each) for each in values["findings"]])


class Audit(Calls):
    """The periodic audit; by default for administrators."""

    def show(self) -> AuditReport:
        """Return what the last round has found."""
        return AuditReport.read(self._transport.get("/audit")["audit"])

    def ask(self) -> AuditReport:
        """Ask for a round now, and return what the last one has found."""
        return AuditReport.read(self._transport.post("/audit", {})["audit"])
