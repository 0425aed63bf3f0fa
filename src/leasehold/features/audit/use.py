"""What the periodic audit has found last, and a round of it on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.periodic_lock import free_periodic_lock
from leasehold.features.audit.model import AuditOffError
from leasehold.features.audit.options import AuditSettings
from leasehold.features.audit.store import last_round

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.features.audit.model import AuditRound
    from leasehold.leasing.service import Service

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
    if not service.settings.of(AuditSettings).audit_seconds:
        raise AuditOffError

    def work(connection: Connection) -> AuditRound | None:
        last = last_round(connection)
        if last is None or not last.under_way:
            free_periodic_lock(connection, AUDIT_LOCK, service.now())
        return last

    return service.db.transact(work)
