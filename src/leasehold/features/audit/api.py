"""The periodic audit as operators see it, from 1.3 on (idea 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.dates import to_iso
from leasehold.api.models.base import answer
from leasehold.api.policies.base import ADMIN, Rule
from leasehold.api.route import ACCEPTED, V1_3
from leasehold.api.views.shown import shown
from leasehold.features.audit.options import AuditSettings
from leasehold.features.audit.use import ask_for_round, read_report
from leasehold.model.finding import Mend

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.audit.model import AuditRound, Reported


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
    repair = None if reported.finding.mend is None else _REPAIRS[reported.finding.mend]
    return shown(
        FindingAnswer,
        reported.finding,
        repair=repair,
        repaired=reported.repaired,
        found_at=reported.found_at,
    )


def show(call: Call) -> Reply:
    """Show what the last round of the periodic audit has found, and what was done about it.

    A round compares the cloud with the database, and repairs what it may. `leasehold-manage audit` looks at more in the
    database: the allocations of all resources.
    """
    return _reply(call, read_report(call.service))


def ask(call: Call) -> Reply:
    """Ask for a round of the audit now; a manager begins within half a minute.

    The answer is the last round. If one is under way, no other one begins.
    """
    return _reply(call, ask_for_round(call.service))


def _reply(call: Call, last: AuditRound | None) -> Reply:
    return Reply({"audit": show_audit(last, call.service.settings.of(AuditSettings).audit_seconds)})


_PATH = "/v1/audit"

GET = Rule("leasehold:audit:get", ADMIN, "Show what the periodic audit has found last.")
POST = Rule("leasehold:audit:post", ADMIN, "Ask for a round of the periodic audit now.")


ROUTES = (V1_3("GET", _PATH, show, (GET,), None, OneAudit), V1_3("POST", _PATH, ask, (POST,), None, OneAudit, ACCEPTED))
