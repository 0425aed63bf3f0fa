"""Remind projects that their leases end soon (feature D3, decision 0043)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.leases.reminder import leases_to_remind
from leasehold.db.outbox import put_event
from leasehold.model.event_log import LeaseNews
from leasehold.model.reminder import due_rung

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

PAGE = 100
"""Leases that are looked up at a time."""


def remind(service: Service) -> int:
    """Write the events of all reminders that are due, each in a transaction of its own; return how many."""
    rungs = service.settings.manager.warn_before_end
    reminded = 0
    while True:
        with service.db.reading() as connection:
            found = leases_to_remind(connection, service.now(), rungs, PAGE)
        done = sum(_remind(service, lease_id) for lease_id in found)
        reminded += done
        # Where other managers did the rest, they go on; a lease that cannot be done must not keep this one here.
        if len(found) < PAGE or not done:
            break
    return reminded


def _remind(service: Service, lease_id: str) -> bool:
    """Write the event of the rung that is due, and that it is done; False: none is, now that the lease is locked."""

    def write(connection: Connection) -> bool:
        now = service.now()
        lease = find_lease(connection, lease_id, lock=True)
        rung = None if lease is None else due_rung(lease, now, service.settings.manager.warn_before_end)
        if lease is None or rung is None:
            return False
        after = save_lease(connection, lease, replace(lease, reminded=rung), now)
        put_event(connection, LeaseNews.ENDS_SOON, after, now, {"before_end_seconds": rung})
        return True

    return service.db.transact(write)
