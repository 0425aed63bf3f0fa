"""What a filter may use beside the lease itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from leasehold.enforcement.given import configured_alone
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from leasehold.db.project import Allocated
    from leasehold.enforcement.given import Given
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.use import Use


class Amounts(Protocol):
    """What the resource types know about the amounts of requests."""

    def amount(self, part: Reservation) -> int:
        """Return the most that a reservation may get, in the noun of its type."""

    def use(self, part: Reservation) -> Use:
        """Return the most that a reservation may use of what a project may be limited in."""

    def noun(self, resource_type: str) -> str:
        """Return what the amounts of a type count, for people."""


class ProjectUse(Protocol):
    """What projects use: `CountedUse` for a decision, `KnownUse` for a question that decides nothing."""

    def take(self, project_id: str, more: Use, most: Use, now: datetime, /) -> bool:
        """Add `more` to what the project uses and return True, if that is known to stay within `most`.

        `MOST` there is no limit.
        """

    def enter(self, project_id: str, /) -> None:
        """Lock what the project uses, before it is counted."""

    def keep(self, project_id: str, use: Use, more: Use, now: datetime, /) -> None:
        """Store what was counted, and add `more` to it."""

    def open_leases(self, project_id: str, /, user_id: str | None = None) -> int:
        """Return how many leases of the project, or of a user in it, are open."""

    def allocated(
        self, project_id: str, /, *, but: str, user_id: str | None = None, window: Window | None = None
    ) -> list[Allocated]:
        """Return what is allocated to open leases of the project, or of a user in it, without the lease `but`.

        With a `window`, at least what is allocated in it.
        """


@dataclass(frozen=True, slots=True)
class Deciding:
    """The decision about a lease, for filters that count: what projects `use`, and its moment `now`.

    `types` tells the amounts of requests, `given` the limits of a project that are not configured here.
    """

    use: ProjectUse
    now: datetime
    types: Amounts
    given: Callable[[str], Given] = configured_alone

    @property
    def gives(self) -> bool:
        """Whether anybody else gives limits."""
        return self.given is not configured_alone

    def counted(self, lease: Lease, longest: timedelta) -> Window:
        """Return the window that limits of time count: without an end for the `longest` from now or the start."""
        window = lease.counted_window
        return Window(window.start, max(window.start, self.now) + longest) if lease.open_ended else window
