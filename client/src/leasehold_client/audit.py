"""What the periodic audit has found, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.wire import read_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold_client.transport import Transport


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference: `repair` says what a repair does (None: only a person can decide, `remedy` says how)."""

    kind: str
    subject: str
    what: str
    remedy: str
    repair: str | None
    repaired: str | None
    found_at: datetime


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The last round: None where there was none or it has not ended; `failure` says why it was not completed."""

    began_at: datetime | None
    ended_at: datetime | None
    under_way: bool
    failure: str | None
    findings: Sequence[Finding]


class Audit:
    """The periodic audit; by default for administrators."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def show(self) -> AuditReport:
        """Return what the last round has found."""
        return _report(self._transport.get("/audit"))

    def ask(self) -> AuditReport:
        """Ask for a round now, and return what the last one has found."""
        return _report(self._transport.post("/audit", {}))


def _report(answer: Mapping[str, Any]) -> AuditReport:
    found = answer["audit"]
    began, ended = (None if found[key] is None else read_time(found[key]) for key in ("began_at", "ended_at"))
    keys = ("kind", "subject", "what", "remedy", "repair", "repaired")
    findings = [
        Finding(**{key: each[key] for key in keys}, found_at=read_time(each["found_at"])) for each in found["findings"]
    ]
    return AuditReport(began, ended, found["under_way"], found["failure"], findings)
