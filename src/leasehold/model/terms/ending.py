"""What happens to the servers of a reservation when its lease ends (features E1 to E4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.terms.end_action import EndAction
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.model.terms.notice import Notice


LATEST = datetime(9999, 12, 1, tzinfo=UTC)
"""Nothing is held longer: databases store dates up to the year 9999, and there are margins around what is held."""


class OnEnd(StrEnum):
    """What becomes of servers when the grace period is over."""

    DELETE = "delete"
    RECYCLE = "recycle"
    """They live on for a limited time; each host is free when its last server is gone."""
    GIVE_BACK = "give_back"
    """They live on for good: a host with servers leaves the reservation pool and serves everybody."""


FOR_GOOD = timedelta(days=36_525)
"""How long a search wants a resource free after the end where it may be given back: longer than anybody plans ahead."""


@dataclass(frozen=True, slots=True)
class Lent:
    """Where a sub-lease has its resources from: the lease and the reservation that get them back, and end at `until`.

    They are reserved up to then, so nobody else is promised them when the sub-lease ends earlier.
    """

    lease_id: str
    reservation_id: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Ending:
    """How a reservation ends: `grace` comes first, then `limit`, which only `recycle` has.

    `before_end` is what is done with its servers before that, a word of EndAction or of a newer version; reservations
    of hosts have it in their request. `lent` is set for the reservation of a sub-lease, and `notice`
    if what it has is not taken back at once; nothing of such a reservation outlives its lease.

    In this time no server is deleted and none can be added. The calendar reserves it, so the promise to the next lease
    holds whatever happens; a resource without servers is free at once. What may be given back is reserved for good.
    """

    on_end: OnEnd = OnEnd.DELETE
    grace: timedelta = timedelta(0)
    limit: timedelta = timedelta(0)
    before_end: str = EndAction.NOTHING
    lent: Lent | None = None
    notice: Notice | None = None

    @property
    def gives_back(self) -> bool:
        """Whether servers live on for good, and take their host out of the reservation pool."""
        return self.on_end is OnEnd.GIVE_BACK

    @property
    def tail(self) -> timedelta:
        """How long servers may live on after the end of the lease."""
        return FOR_GOOD if self.gives_back else self.grace + self.limit

    def held(self, window: Window) -> Window:
        """Return the window in which a reservation holds its resources, for a lease in this window.

        So does a lease that ends in the minute in which it began: its owner may have booted servers by then.
        """
        if self.lent is not None:
            return Window(window.start, max(window.end, self.lent.until))
        if not self.tail:
            return window
        left = max(LATEST - window.end, timedelta(0))
        return Window(window.start, window.end + (left if self.gives_back else min(self.tail, left)))

    def counted(self, window: Window) -> Window:
        """Return the window that limits count: a host that is given back is nobody's after the end.

        One that is lent is its lender's again.
        """
        return window if self.gives_back or self.lent is not None else self.held(window)


DELETED_AT_ONCE = Ending()


def held_longest(window: Window, endings: Iterable[Ending]) -> Window:
    """Return the window in which reservations with these endings hold resources, for a lease in this window."""
    return max((each.held(window) for each in endings), key=lambda held: held.end, default=window)


def counted_longest(window: Window, endings: Iterable[Ending]) -> Window:
    """Return the window that limits count for reservations with these endings, for a lease in this window."""
    return max((each.counted(window) for each in endings), key=lambda counted: counted.end, default=window)
