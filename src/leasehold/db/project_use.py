"""What a project uses, for filters: as it was read for a question, or for requests that are decided together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leasehold.db.project import CountedUse, take_uses, use_bounds
from leasehold.model.use import NO_LIMIT, Use

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.project import Allocated


class UncountedError(Exception):
    """What is known of a project's use does not say whether a lease stays within its limits: it has to be counted."""


@dataclass(frozen=True, slots=True)
class KnownUse:
    """What a project uses, as it was read, for questions that decide nothing: nothing is locked or written.

    `bounds` are upper bounds, None without any. `counted` is what the project has, and the user in it, by the user's
    id, None for the project; without it UncountedError is raised where the bounds do not say enough.
    """

    bounds: Use | None
    counted: Mapping[str | None, tuple[int, list[Allocated]]] | None = None

    @classmethod
    def bounded(cls, connection: Connection, project_id: str, now: datetime) -> KnownUse:
        """Read the upper bounds alone: one row, however many leases there are."""
        return cls(use_bounds(connection, project_id, now))

    @classmethod
    def read(cls, connection: Connection, project_id: str, user_id: str, whole: Mapping[str, str]) -> KnownUse:
        """Count what the project uses, and the user in it; `whole` is as in `CountedUse`."""
        use = CountedUse(connection, whole)
        counted = {
            each: (use.open_leases(project_id, each), use.allocated(project_id, user_id=each))
            for each in (None, user_id)
        }
        return cls(None, counted)

    @property
    def ends(self) -> list[int]:
        """When the project uses less than before, in seconds since the epoch, ascending."""
        return [] if self.counted is None else sorted({each.end for each in self.counted[None][1]})

    def take(self, _project_id: str, more: Use, most: Use, _now: datetime) -> bool:
        """Return whether the upper bounds and `more` stay within `most`; nothing is taken."""
        return self.bounds is not None and (self.bounds + more).within(most)

    def enter(self, _project_id: str) -> None:
        """Lock nothing."""

    def keep(self, _project_id: str, _use: Use, _more: Use, _now: datetime) -> None:
        """Store nothing."""

    def open_leases(self, _project_id: str, user_id: str | None = None) -> int:
        """Return how many leases the project, or the user, has; raises UncountedError."""
        return self._of(user_id)[0]

    def allocated(self, _project_id: str, *, user_id: str | None = None, **_: Any) -> list[Allocated]:
        """Return all that is allocated to the project, or to the user in it; raises UncountedError.

        A lease that was not made has nothing to leave out, and every window was read.
        """
        return self._of(user_id)[1]

    def _of(self, user_id: str | None) -> tuple[int, list[Allocated]]:
        if self.counted is None:
            raise UncountedError
        return self.counted[user_id]


@dataclass(frozen=True, slots=True)
class SharedUse(KnownUse):
    """What one of several requests that are decided together adds to what projects use; nothing can be counted.

    What the others write is not in the tables yet. What is `taken` is noted, and taken for all of a project at once
    (`take_together`).
    """

    bounds: Use | None = None
    taken: dict[str, tuple[Use, Use]] = field(default_factory=dict)

    def take(self, project_id: str, more: Use, most: Use, _now: datetime) -> bool:
        """Note what is to be taken; whether it stays within `most` is known later."""
        self.taken[project_id] = more, most
        return True


def take_together(connection: Connection, uses: Iterable[SharedUse], now: datetime) -> frozenset[str]:
    """Take what requests have noted, all of a project in one sum; return those it is too much for.

    Nothing is taken for these. Raises what `take_use` raises.
    """
    return take_uses(connection, _sums(uses), now)


def give_back(connection: Connection, uses: Iterable[SharedUse], now: datetime) -> None:
    """Take back what was taken for requests that are not granted."""
    take_uses(connection, {each: (-more, NO_LIMIT) for each, (more, _) in _sums(uses).items()}, now)


def _sums(uses: Iterable[SharedUse]) -> dict[str, tuple[Use, Use]]:
    """Return what is noted for each project in all, and the least that it has to stay within."""
    wanted: dict[str, list[tuple[Use, Use]]] = {}
    for use in uses:
        for project_id, each in use.taken.items():
            wanted.setdefault(project_id, []).append(each)
    # What is not limited is more than any real amount, and is given back as it is: no sum is cut.
    return {
        project_id: (
            Use(*map(sum, zip(*(each.amounts for each, _ in every), strict=True))),
            Use(*map(min, zip(*(each.amounts for _, each in every), strict=True))),
        )
        for project_id, every in sorted(wanted.items())
    }
