"""A way in which other leases make room for one that would be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.rebinding_search import RoomMade


class Way(Protocol):
    """How other leases make room, in the transaction of a decision and under its locks."""

    def room(
        self, snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, pool: str
    ) -> RoomMade | None:
        """Return how a lease fits of which a reservation was refused in this pool; None: it stays refused.

        What changes is locked then. Never raises because of what it looks for.
        """
