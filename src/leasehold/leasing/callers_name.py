"""Make the cloud objects that only the caller may make, right after the decision, while the token is available.

For example, Nova accepts as a scheduler hint only a server group of the user's own project (docs/decisions/0009). The
allocations never depend on such objects.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from leasehold.cloud.deadline import time_left
from leasehold.cloud.ports import CloudError
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.store import UnknownOutcomeError
from leasehold.resource_types.capabilities import ActingForCaller

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation

log = logging.getLogger(__name__)


def act_in_callers_name(service: Service, lease: Lease, token: str | None, project_id: str) -> Lease:
    """Let the drivers make objects with the caller's token, for project `project_id`; return the updated lease.

    If that is not the lease's project (an administrator amends the lease), nothing is made: an object that no longer
    fits is removed, and the owner's next amendment makes a new one.

    If the cloud does not answer within the request's deadline, or the database fails after the lease was committed,
    the lease stays as it is.
    """
    if token is None:
        return lease
    parts = list(_lacking(service, lease))
    for done, (part, driver, request) in enumerate(parts):
        if time_left() == 0.0:
            text = "Lease %s: %d reservations have no %s of their own: the cloud did not answer in time"
            log.warning(text, lease.id, len(parts) - done, driver.for_caller)
            break
        try:
            made = driver.act_for_caller(
                service.cloud, part, request, token if project_id == lease.project_id else None
            )
            lease = _keep(service, driver, lease, part, made)
        except (CloudError, SQLAlchemyError, UnknownOutcomeError) as error:
            log.warning("Reservation %s has no %s of its own: %s", part.id, driver.for_caller, error)
        except Exception:
            log.exception("A bug in %s: reservation %s has no %s", part.resource_type, part.id, driver.for_caller)
    return lease


def _lacking(service: Service, lease: Lease) -> Iterator[tuple[Reservation, ActingForCaller, Any]]:
    """Yield the reservations with their driver and typed request for which something has to be made or removed."""
    for part in lease.kept:
        found = service.types.find(part.resource_type)
        if found is None or not isinstance(found.driver, ActingForCaller):
            continue
        try:
            request = found.kind.load(part.request)
            wanted = found.driver.wants_caller(service.cloud, part, request)
        except Exception:
            # The lease is committed, so a bug in a plugin must not fail the request; here and above.
            log.exception("A bug in %s: nothing is made with the caller's token for %s", part.resource_type, part.id)
            continue
        if wanted:
            yield part, found.driver, request


def _keep(service: Service, driver: ActingForCaller, lease: Lease, part: Reservation, made: Mapping[str, Any]) -> Lease:
    """Store the facts of what was made, and discard what they replace; if the lease is gone, discard what was made."""

    def work(connection: Connection) -> Lease | None:
        present = find_lease(connection, lease.id, lock=True)
        if present is None:
            return None
        known = next(each.cloud for each in present.reservations if each.id == part.id)
        after = present.with_reservations({part.id}, cloud={**known, **made})
        return save_lease(connection, present, after, service.now())

    saved = service.db.transact(work)
    driver.discard(service.cloud, made if saved is None else part.cloud)
    return lease if saved is None else saved
