"""The history of a lease, also of a deleted one: its changes, and what it has held (feature L9, decision 0084)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.features.lease_history.store import list_changes
from leasehold.leasing.reading.lease_then import by_beginning, find_any_lease
from leasehold.model.paging import unknown_marker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service
    from leasehold.model.lease_then import LeaseChange
    from leasehold.model.segment import Segment


@dataclass(frozen=True, slots=True)
class LeaseHistory:
    """Recorded changes of a lease, oldest first, and all that it has held, by its beginning.

    `before` is the change before the first of these, None if they begin with the first one that is recorded.
    """

    changes: Sequence[LeaseChange]
    held: Sequence[Segment]
    before: LeaseChange | None = None


def lease_history(service: Service, lease_id: str, after: str | None = None, most: int | None = None) -> LeaseHistory:
    """Return recorded changes of a lease, at most `most` after the one with this id, and what it has held until now.

    Raises NotFoundError, and InvalidInputError if the lease has no change with this id.
    """
    with service.db.reading() as connection:
        # The change before the first one says what that has changed.
        wanted = most if most is None or after is None else most + 1
        changes = list_changes(connection, find_any_lease(connection, lease_id).id, after, wanted)
        if after is not None and not changes:
            raise unknown_marker()
        held = each_segment(connection, SegmentFilter(lease_id), service.now())
        before = None if after is None else changes[0]
        return LeaseHistory(changes if before is None else changes[1:], by_beginning(held), before)
