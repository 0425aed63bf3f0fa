"""What a project uses, for filters: as a decision counts and changes it, or as it was read for a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.db.project import allocated_to, count_open_leases, enter, keep_use, take_use

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.project import Allocated
    from leasehold.model.use import Use


@dataclass(frozen=True, slots=True)
class CountedUse:
    """What projects use as a transaction that decides counts it; `whole` is as in `allocated_to`."""

    connection: Connection
    whole: Mapping[str, str]

    def take(self, project_id: str, more: Use, most: Use, now: datetime) -> bool:
        """Do as `take_use`."""
        return take_use(self.connection, project_id, more, most, now)

    def enter(self, project_id: str) -> None:
        """Lock what the project uses, before it is counted."""
        enter(self.connection, project_id)

    def keep(self, project_id: str, use: Use, now: datetime) -> None:
        """Store what was counted."""
        keep_use(self.connection, project_id, use, now)

    def open_leases(self, project_id: str, user_id: str | None = None) -> int:
        """Do as `count_open_leases`."""
        return count_open_leases(self.connection, project_id, user_id)

    def allocated(self, project_id: str, *, but: str, user_id: str | None = None) -> list[Allocated]:
        """Do as `allocated_to`."""
        return allocated_to(self.connection, project_id, self.whole, but=but, user_id=user_id)


@dataclass(frozen=True, slots=True)
class KnownUse:
    """What the project of a caller uses, and the caller of that, as they were read: nothing is locked or written.

    `allocations` are empty if no limit counts them.
    """

    leases: int
    leases_of_user: int
    allocations: list[Allocated]
    allocations_of_user: list[Allocated]

    @classmethod
    def read(
        cls, connection: Connection, project_id: str, user_id: str, whole: Mapping[str, str], *, counts: bool
    ) -> KnownUse:
        """Read it; `counts` says that some limit counts what is allocated."""
        use = CountedUse(connection, whole)
        return cls(
            use.open_leases(project_id),
            use.open_leases(project_id, user_id),
            use.allocated(project_id, but="") if counts else [],
            use.allocated(project_id, but="", user_id=user_id) if counts else [],
        )

    @property
    def ends(self) -> list[int]:
        """When the project uses less than before, in seconds since the epoch, ascending."""
        return sorted({each.end for each in self.allocations})

    def take(self, _project_id: str, _more: Use, _most: Use, _now: datetime) -> bool:
        """Return False: nothing is taken, so what was read is counted."""
        return False

    def enter(self, _project_id: str) -> None:
        """Lock nothing."""

    def keep(self, _project_id: str, _use: Use, _now: datetime) -> None:
        """Store nothing."""

    def open_leases(self, _project_id: str, user_id: str | None = None) -> int:
        """Return how many leases the project, or the user, has."""
        return self.leases if user_id is None else self.leases_of_user

    def allocated(self, _project_id: str, *, but: str, user_id: str | None = None) -> list[Allocated]:  # noqa: ARG002 - a lease that was not made has nothing to leave out
        """Return what is allocated to the project, or to the user in it."""
        return self.allocations if user_id is None else self.allocations_of_user
