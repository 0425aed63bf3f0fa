"""A lease as it was, also a deleted one: what it was and held at a moment (feature L9)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease
from leasehold.db.past.lease_then import change_at, has_changes
from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.model.errors import HistoryNotKeptError, InvalidInputError, NotFoundError, NotThenError
from leasehold.model.lease_then import LeaseThen
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.segment import Segment


SECOND = timedelta(seconds=1)
"""What is held is recorded to the second."""


def get_any_lease(service: Service, lease_id: str) -> Lease:
    """Return a lease, or a deleted one that is not purged; raises NotFoundError, also for an offer that never was one.

    That is one which nobody has accepted.
    """
    with service.db.reading() as connection:
        return find_any_lease(connection, lease_id)


def lease_as_of(service: Service, lease_id: str, moment: datetime) -> LeaseThen:
    """Return a lease as it was at a moment, and what it held then.

    Raises InvalidInputError for a moment in the future, NotThenError where the lease was not made yet or was deleted,
    and HistoryNotKeptError where an older version recorded too little.
    """
    if moment > service.now():
        message = "as_of lies in the future. Leave it out to see the lease as it is now."
        raise InvalidInputError(message, field="as_of")
    with service.db.reading() as connection:
        lease = _then(connection, find_any_lease(connection, lease_id), moment)
        since = moment.replace(microsecond=0)
        held = each_segment(connection, SegmentFilter(lease_id, since=since, until=since + SECOND), since + SECOND)
        return LeaseThen(lease, by_beginning(held))


def find_any_lease(connection: Connection, lease_id: str) -> Lease:
    """Return what `get_any_lease` does."""
    found = find_lease(connection, lease_id, gone=True)
    if found is None or found.status is LeaseStatus.OFFERED:
        raise NotFoundError("lease_id", lease_id)
    if found.deleted_at and found.offered_until and not has_changes(connection, lease_id):
        raise NotFoundError("lease_id", lease_id)
    return found


def _then(connection: Connection, present: Lease, moment: datetime) -> Lease:
    """Return the lease as it was at a moment; the present one if it has not changed since."""
    made, changed = present.created_at, present.updated_at or present.created_at
    change = change_at(connection, present.id, moment)
    if changed is not None and changed <= moment:
        found = present
    elif change is None:
        if present.offered_until is not None or made is None or moment < made:
            raise NotThenError(present.id)
        raise HistoryNotKeptError(present.id)
    elif not change.whole:
        raise HistoryNotKeptError(present.id)
    else:
        found = change.lease
    if found.deleted_at is not None:
        raise NotThenError(present.id)
    return found


def by_beginning(held: Iterable[Segment]) -> Sequence[Segment]:
    """Return what was held, in the order in which it began."""
    return sorted(held, key=lambda each: (each.window.start, each.reservation_id, each.resource_number))
