"""What the periodic audit has found last, and a round of it on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.audit_round import last_round
from leasehold.db.periodic_lock import free_periodic_lock
from leasehold.model.errors import AuditOffError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.audit_round import AuditRound

AUDIT_LOCK = "audit"
"""The kind of the periodic lock that lets one manager at a time do a round."""


def read_report(service: Service) -> AuditRound | None:
    """Return the last round of the periodic audit, None before the first."""
    with service.db.reading() as connection:
        return last_round(connection)


def ask_for_round(service: Service) -> AuditRound | None:
    """Let a manager begin a round now, unless one is under way, and return the last one.

    Raises AuditOffError if no manager does rounds.
    """
    if not service.settings.manager.audit_seconds:
        raise AuditOffError

    def work(connection: Connection) -> AuditRound | None:
        last = last_round(connection)
        if last is None or not last.under_way:
            free_periodic_lock(connection, AUDIT_LOCK, service.now())
        return last

    return service.db.transact(work)
