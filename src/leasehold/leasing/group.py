"""Server groups, so that users can name a reservation's affinity to the cloud's own scheduler (docs/decisions/0009).

The promise does not depend on them: affinity is kept by where the slots are (design §2). But clients written for Blazar
send `server_group_id` as a scheduler hint, and Nova accepts only a group of the user's own project. So it is made in
the name of the caller, right after the decision, while their token is at hand.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from leasehold.cloud.deadline import time_left
from leasehold.cloud.ports import CloudError
from leasehold.db.lease import find_lease, save_lease
from leasehold.db.store import UnknownOutcomeError
from leasehold.resource_types.base import mark_of
from leasehold.resource_types.slots import SERVER_GROUP, group_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.cloud.ports import ServerGroups
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation

log = logging.getLogger(__name__)

TOGETHER = "server_group_together"
"""The fact that says which affinity a group of ours stands for."""


def share_groups(service: Service, lease: Lease, token: str | None, project_id: str) -> Lease:
    """Return the lease with a server group for each reservation that has an affinity, made in the caller's name.

    Nova makes a group in the project that the token is for. Where that is not the lease's `project_id`, as when an
    administrator amends it, no group is made: one that no longer fits is removed, and the owner's next amendment makes
    another.

    A cloud that has none, or gives none within the request's deadline, leaves the lease as it is: it is promised all
    the same. So does a database that goes away after the promise was committed.
    """
    groups = service.cloud.server_groups
    if token is None or groups is None:
        return lease
    parts = [part for part in lease.reservations if _differs(part)]
    for done, part in enumerate(parts):
        if time_left() == 0.0:
            text = "Lease %s: %d reservations have no server group of their own: the cloud did not answer in time"
            log.warning(text, lease.id, len(parts) - done)
            break
        try:
            lease = _replace_group(service, groups, lease, part, token if project_id == lease.project_id else None)
        except (CloudError, SQLAlchemyError, UnknownOutcomeError) as error:
            log.warning("Reservation %s has no server group of its own: %s", part.id, error)
    return lease


def _differs(part: Reservation) -> bool:
    """Say whether the group that a reservation has is not for the affinity that it asks for."""
    if part.request.get(SERVER_GROUP):
        return False
    affinity = part.request.get("affinity")
    return affinity != part.cloud.get(TOGETHER) or (affinity is not None and group_of(part) is None)


def _replace_group(service: Service, groups: ServerGroups, lease: Lease, part: Reservation, token: str | None) -> Lease:
    """Replace the group that a reservation has by what it asks for now; without a token by none."""
    together, old = part.request["affinity"], group_of(part)
    if token is None:
        together = None
    new = None if together is None or token is None else groups.create(mark_of(part.id), together=together, token=token)

    def work(connection: Connection) -> Lease | None:
        present = find_lease(connection, lease.id, lock=True)
        if present is None:
            return None
        known = next(each.cloud for each in present.reservations if each.id == part.id)
        facts = {**known, SERVER_GROUP: new, TOGETHER: together}
        return save_lease(connection, present, present.with_reservations({part.id}, cloud=facts), service.now())

    saved = service.db.transact(work)
    superfluous = old if saved is not None else new
    if superfluous is not None:
        _remove(groups, superfluous)
    return lease if saved is None else saved


def _remove(groups: ServerGroups, group_id: str) -> None:
    try:
        groups.delete(group_id)
    except CloudError as error:
        log.warning("The server group %s that nothing needs any more could not be removed: %s", group_id, error)
