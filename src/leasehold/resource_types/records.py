"""What the database knows of resources and leases; drivers ask whether a cloud object is of an ended lease."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.db.allocation import unreleased_on
from leasehold.db.resources.owners import Holders, holders, owners, removed_resources
from leasehold.db.resources.resource import list_resources
from leasehold.db.resources.strangers import past_holds, project_has_lease
from leasehold.db.work import IDLE, work_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.model.resource import Resource

NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class Enrolments:
    """The resources of a type at one moment.

    `removed` are the attributes of those that are no longer enrolled, by id; `busy` the ids whose task is at work;
    `idle` those whose task has nothing to do; `whole` the numbers of those that a lease has as a whole.
    """

    enrolled: Sequence[Resource]
    removed: Mapping[str, Mapping[str, Any]]
    busy: frozenset[str]
    idle: frozenset[str]
    whole: frozenset[int]


@dataclass(frozen=True, slots=True)
class Records:
    """Queries about resources and leases, each in a short read transaction."""

    db: Database
    now: Callable[[], datetime]

    def enrolled(self, resource_type: str) -> Sequence[Resource]:
        """Return the enrolled resources of a type."""
        with self.db.reading() as connection:
            return list_resources(connection, resource_type)

    def enrolments(self, resource_type: str, task: str) -> Enrolments:
        """Return the resources of a type, whose tasks are of the kind `task`."""
        now = self.now()
        with self.db.reading() as connection:
            enrolled = list_resources(connection, resource_type)
            tasks = work_for(connection, task)
            return Enrolments(
                enrolled,
                removed_resources(connection, resource_type),
                frozenset(subject for subject, work in tasks.items() if work.busy(now)),
                frozenset(each.id for each in enrolled if tasks.get(each.id, IDLE).due_at is None),
                _whole(connection, [each.number for each in enrolled], now),
            )

    def whole(self, numbers: Collection[int], ahead: timedelta = NO_TIME) -> frozenset[int]:
        """Return those of these resources that a lease has as a whole, now or within `ahead`."""
        with self.db.reading() as connection:
            return _whole(connection, numbers, self.now() + ahead)

    def holders(self, numbers: Collection[int]) -> Mapping[int, Holders]:
        """Return for each of these resources the projects that have it, and that had it."""
        with self.db.reading() as connection:
            return holders(connection, numbers, self.now())

    def over(self, reservation_ids: Collection[str]) -> frozenset[str]:
        """Return those ids that are reservations which are over; such a reservation never becomes current again."""
        with self.db.reading() as connection:
            known = owners(connection, reservation_ids)
        return frozenset(ident for ident, owner in known.items() if owner.over)

    def current(self, reservation_ids: Collection[str]) -> frozenset[str]:
        """Return those ids that are reservations which are not over."""
        with self.db.reading() as connection:
            known = owners(connection, reservation_ids)
        return frozenset(ident for ident, owner in known.items() if not owner.over)

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
        return project_id in self.holders({number}).get(number, Holders()).former


def _whole(connection: Connection, numbers: Collection[int], moment: datetime) -> frozenset[int]:
    held = unreleased_on(connection, numbers, moment) if numbers else []
    return frozenset(each.resource_number for each in held if each.demand is None)
