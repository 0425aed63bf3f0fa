"""What happens to the servers of a reservation when its lease ends (features E1, E2, E4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.end_action import EndAction
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable


LATEST = datetime(9999, 12, 1, tzinfo=UTC)
"""Nothing is held longer: databases store dates up to the year 9999, and there are margins around what is held."""


class OnEnd(StrEnum):
    """What becomes of servers when the grace period is over."""

    DELETE = "delete"
    RECYCLE = "recycle"
    """They live on for a limited time; each host is free when its last server is gone."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a reservation ends: `grace` comes first, then `limit`, which only `recycle` has.

    `before_end` is what is done with its servers before that, a word of EndAction or of a newer version; reservations
    of hosts have it in their request.

    In this time no server is deleted and none can be added. The calendar reserves it, so the promise to the next lease
    holds whatever happens; a resource without servers is free at once.
    """

    on_end: OnEnd = OnEnd.DELETE
    grace: timedelta = timedelta(0)
    limit: timedelta = timedelta(0)
    before_end: str = EndAction.NOTHING

    @property
    def tail(self) -> timedelta:
        """How long servers may live on after the end of the lease."""
        return self.grace + self.limit

    def held(self, window: Window) -> Window:
        """Return the window in which a reservation holds its resources, for a lease in this window.

        A lease that was cut to nothing holds nothing.
        """
        if not self.tail or not window.duration:
            return window
        return Window(window.start, window.end + min(self.tail, max(LATEST - window.end, timedelta(0))))


DELETED_AT_ONCE = Ending()


def held_longest(window: Window, endings: Iterable[Ending]) -> Window:
    """Return the window in which reservations with these endings hold resources, for a lease in this window."""
    return max((each.held(window) for each in endings), key=lambda held: held.end, default=window)
