"""Tell the external service of the ends of leases (feature H5): a message that is sent until it is acknowledged.

The transaction that begins an end, or that deletes a lease before its end, adds a task. Any manager delivers it, with
the lease as it is then; the end itself never waits for that.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold.db.leases.lease import find_lease
from leasehold.db.task import END_NOTICE, add_task_once, claim_end_notice, is_end_notice_due, postpone_task, remove_task
from leasehold.enforcement.external import ExternalCall, UndeliveredError
from leasehold.leasing.external_view import ExternalView
from leasehold.model.backoff import pause_after

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

log = logging.getLogger(__name__)


def note_end(service: Service, connection: Connection, lease: Lease, now: datetime) -> None:
    """Add the message that a lease ends, if the external service is told of ends of the project's leases.

    It was not asked about a maintenance window, and is not told of its end.
    """
    if not lease.is_maintenance and service.enforcement.asks(ExternalCall.END, lease.project_id):
        add_task_once(connection, END_NOTICE, lease.id, now)


def deliver_end_notice(service: Service) -> bool:
    """Deliver the message that has been due the longest, and return True; False: none is due, or it was not delivered.

    A message that was not delivered is due again after a pause that grows with each try. One that the service got just
    before this process died is sent again. If the configuration names nobody to tell any more, messages are dropped.
    """
    with service.db.reading() as connection:
        if not is_end_notice_due(connection, service.now()):
            return False
    external = service.enforcement.external
    told = external if external is not None and external.takes(ExternalCall.END) else None
    lasts = timedelta(seconds=max(0.0 if told is None else told.seconds, service.settings.manager.claim_seconds))
    claimer = f"end-notice:{uuid4().hex}"
    claim = service.db.transact(lambda connection: claim_end_notice(connection, claimer, service.now(), lasts))
    if claim is None:
        return False
    body = _body(service, claim.subject)
    if told is None or body is None:
        why = "it is not configured" if told is None else "the lease was purged"
        log.warning("The external service is not told of the end of lease %s: %s", claim.subject, why)
    else:
        try:
            told.tell_end(body)
        except UndeliveredError as error:
            _try_later(service, claim, str(error))
            return False
    service.db.transact(lambda connection: remove_task(connection, claim))
    return True


def _body(service: Service, lease_id: str) -> Mapping[str, Any] | None:
    with service.db.reading() as connection:
        lease = find_lease(connection, lease_id, gone=True)
        return None if lease is None else ExternalView(service, connection).end(lease)


def _try_later(service: Service, claim: Claim, why: str) -> None:
    settings = service.settings.manager
    pause = pause_after(claim.attempts, first=settings.retry_first_seconds, most=settings.retry_refused_seconds)
    due = service.now() + pause
    log.warning(
        "The external service was not told of the end of lease %s, try %s: %s", claim.subject, claim.attempts, why
    )
    error = f"The external service did not acknowledge the end of the lease: {why}."
    service.db.transact(lambda connection: postpone_task(connection, claim, due, error))
