"""The audit's report, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.api.dates import to_iso
from leasehold.model.finding import Mend

if TYPE_CHECKING:
    from leasehold.features.audit.bodies import AuditAnswer, FindingAnswer
    from leasehold.features.audit.model import AuditRound, Reported

_REPAIRS: Final = {
    Mend.LEASE: "A manager converges the lease: the cloud is made to match what the lease should have.",
    Mend.RESOURCE: "A manager puts the resource into its place, or releases it if it is enrolled no more.",
    Mend.REMOVAL: "What the reservation has left in the cloud is removed, unless servers use it.",
    Mend.DRIVER: "The driver of the resource's type repairs it.",
    Mend.HOLD: "The resource is held for its lease no more, and goes back if it was drawn for it.",
}
"""What each repair does, for people."""


def show_audit(last: AuditRound | None, interval: float) -> AuditAnswer:
    """Return the report; times are in ISO 8601 with the zone."""
    began, ended = (None, None) if last is None else (last.began_at, last.ended_at)
    return {
        "interval_seconds": interval,
        "began_at": to_iso(began),
        "ended_at": to_iso(ended),
        "under_way": last is not None and last.under_way,
        "failure": None if last is None else last.failure,
        "findings": [] if last is None else [_show(each) for each in last.findings],
    }


def _show(reported: Reported) -> FindingAnswer:
    found = reported.finding
    return {
        "kind": found.kind.value,
        "subject": found.subject,
        "resource_type": found.resource_type,
        "what": found.what,
        "remedy": found.remedy,
        "repair": None if found.mend is None else _REPAIRS[found.mend],
        "repaired": reported.repaired,
        "found_at": reported.found_at.isoformat(),
    }
