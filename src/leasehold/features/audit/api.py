"""The periodic audit as operators see it, from 1.3 on (idea 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.policies.base import admin_only
from leasehold.api.route import ACCEPTED, V1_3
from leasehold.features.audit.bodies import OneAudit
from leasehold.features.audit.options import AuditSettings
from leasehold.features.audit.use import ask_for_round, read_report
from leasehold.features.audit.view import show_audit

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.audit.model import AuditRound


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

GET = "leasehold:audit:get"
POST = "leasehold:audit:post"

RULES = [
    admin_only(GET, "Show what the periodic audit has found last.", "GET", _PATH),
    admin_only(POST, "Ask for a round of the periodic audit now.", "POST", _PATH),
]

ROUTES = (
    V1_3("GET", _PATH, show, (GET,), None, OneAudit),
    V1_3("POST", _PATH, ask, (POST,), None, OneAudit, ACCEPTED),
)
