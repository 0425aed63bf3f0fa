"""Remind projects that their leases end soon (feature D3, decision 0043)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_each, save_lease
from leasehold.db.leases.reminder import leases_to_remind
from leasehold.db.outbox import put_event
from leasehold.db.together import together
from leasehold.model.event_log import LeaseNews
from leasehold.model.reminder import due_rung

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

log = getLogger(__name__)

PAGE = 100
"""Leases that are looked up at a time."""


def remind(service: Service) -> int:
    """Write the events of all reminders that are due, a page of leases at a time; return how many."""
    rungs = service.settings.manager.warn_before_end
    reminded = 0
    while True:
        with service.db.reading() as connection:
            found = leases_to_remind(connection, service.now(), rungs, PAGE)
        done = _remind_all(service, found)
        reminded += done
        # Where other managers did the rest, they go on; a lease that cannot be done must not keep this one here.
        if len(found) < PAGE or not done:
            break
    return reminded


def _remind_all(service: Service, lease_ids: Sequence[str]) -> int:
    """Remind of leases in one transaction; if it fails, of each in its own, because one of them may be why."""
    if len(lease_ids) > 1:
        try:
            return service.db.transact(partial(_remind, service, lease_ids))
        except Exception:
            log.warning("%d reminders could not be written together.", len(lease_ids), exc_info=True)
    return sum(service.db.transact(partial(_remind, service, [each])) for each in lease_ids)


def _remind(service: Service, lease_ids: Sequence[str], connection: Connection) -> int:
    """Write the events of the rungs that are due, and that they are done; return how many are, now that all are locked.

    What somebody else has locked is left out: it is found again.
    """
    now, reminded = service.now(), 0
    leases = find_each(connection, lease_ids, lock=True)
    with together(connection) as writes:
        for lease in leases.values():
            rung = due_rung(lease, now, service.settings.manager.warn_before_end)
            if rung is None:
                continue
            after = save_lease(writes, lease, replace(lease, reminded=rung), now)
            put_event(writes, LeaseNews.ENDS_SOON, after, now, {"before_end_seconds": rung})
            reminded += 1
    return reminded
