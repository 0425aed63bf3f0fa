"""Queries about past leases: drivers check whether a cloud object certainly belonged to a lease that is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.db.audit import Holders, holders, owners
from leasehold.db.strangers import past_holds, project_has_lease

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from leasehold.db.store import Database


@dataclass(frozen=True, slots=True)
class History:
    """Queries about all leases, each in a short read transaction."""

    db: Database
    now: Callable[[], datetime]

    def over(self, reservation_ids: Collection[str]) -> frozenset[str]:
        """Return those ids that are reservations which are over; such a reservation never becomes current again."""
        with self.db.reading() as connection:
            known = owners(connection, reservation_ids)
        return frozenset(ident for ident, owner in known.items() if owner.over)

    def past_holds(self, number: int, project_id: str) -> Sequence[tuple[datetime, datetime]]:
        """Return the begin and release times of a project's ended reservations of a whole resource."""
        with self.db.reading() as connection:
            return past_holds(connection, number, project_id)

    def has_lease_since(self, project_id: str, moment: datetime) -> bool:
        """Return whether a project has a lease now that was already running at `moment`."""
        with self.db.reading() as connection:
            return project_has_lease(connection, project_id, moment)

    def has_given_up(self, number: int, project_id: str) -> bool:
        """Return whether a project once leased a resource, and has no lease of it now."""
        with self.db.reading() as connection:
            known = holders(connection, {number}, self.now()).get(number, Holders())
        return project_id in known.former
