"""What only the caller may make in the cloud, made right after the decision, while their token is at hand.

Nova, for example, accepts as a scheduler hint only a server group of the user's own project
(docs/decisions/0009). The promise never depends on it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from leasehold.cloud.deadline import time_left
from leasehold.cloud.ports import CloudError
from leasehold.db.lease import find_lease, save_lease
from leasehold.db.store import UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Driver

log = logging.getLogger(__name__)


def act_in_callers_name(service: Service, lease: Lease, token: str | None, project_id: str) -> Lease:
    """Return the lease with what its drivers make in the caller's name, whose token is for the project `project_id`.

    Where that is not the lease's project, as when an administrator amends it, nothing is made: what no longer fits is
    removed, and the owner's next amendment makes another.

    A cloud that gives no answer within the request's deadline, or a database that goes away after the lease was
    committed, leaves the lease as it is.
    """
    if token is None:
        return lease
    parts = list(_lacking(service, lease))
    for done, (part, driver) in enumerate(parts):
        if time_left() == 0.0:
            text = "Lease %s: %d reservations lack what is made in the caller's name: the cloud did not answer in time"
            log.warning(text, lease.id, len(parts) - done)
            break
        try:
            lease = _act(service, driver, lease, part, token if project_id == lease.project_id else None)
        except (CloudError, SQLAlchemyError, UnknownOutcomeError) as error:
            log.warning("Reservation %s lacks what is made in the caller's name: %s", part.id, error)
    return lease


def _lacking(service: Service, lease: Lease) -> Iterator[tuple[Reservation, Driver[Any]]]:
    for part in lease.reservations:
        found = service.types.find(part.resource_type)
        try:
            if found is not None and found.driver.wants_caller(service.cloud, part, found.kind.load(part.request)):
                yield part, found.driver
        except Exception:
            # The lease is committed, so a defect of a plugin is no answer to the request.
            log.exception("A bug in %s: nothing is made in the caller's name for %s", part.resource_type, part.id)


def _act(service: Service, driver: Driver[Any], lease: Lease, part: Reservation, token: str | None) -> Lease:
    """Replace what a reservation has in a caller's name; without a token by nothing."""
    request = service.types.get(part.resource_type).kind.load(part.request)
    made = driver.act_for_caller(service.cloud, part, request, token)

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
