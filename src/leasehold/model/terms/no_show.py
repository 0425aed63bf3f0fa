"""No-show: what a reservation does not use some time after its start is released, and its owner is warned first.

At half of the time the owner is warned, and what has no server by the end of it goes to others (feature E10, decision
0061). What of a lease is due when is in `model/judging.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

NEVER = timedelta(0)


@dataclass(frozen=True, slots=True)
class NoShow:
    """Resources without a server are released `after` this time; NEVER switches it off.

    The time counts from the start of the lease, or from `since`, when a lease that has started was amended. `used` are
    the ids of the allocations that had a server at the warning: they are kept, whatever became of the server. `done`
    says that nothing more is released.
    """

    after: timedelta
    since: datetime | None = None
    warned_at: datetime | None = None
    used: frozenset[int] = frozenset()
    done: bool = False

    @property
    def claims(self) -> bool:
        """Whether a release that broke off may have left claims on hosts that the reservation has."""
        return not self.done and (self.warned_at is not None or self.since is not None)

    def counts_from(self, started: datetime) -> datetime:
        """Return when the time begins, for a lease that became active at `started`."""
        return started if self.since is None else max(started, self.since)

    def due(self, started: datetime, end: datetime) -> datetime | None:
        """Return when the warning is due, and after it the release; None if neither comes before the lease's `end`.

        After a late warning the owner has half of the time all the same.
        """
        begin = self.counts_from(started)
        if self.done or not self.after or end - begin <= self.after:
            return None
        if self.warned_at is None:
            return begin + self.after / 2
        moment = max(begin + self.after, self.warned_at + self.after / 2)
        return moment if moment < end else None


def changed(before: NoShow | None, after: timedelta, now: datetime, *, started: bool, anew: bool) -> NoShow | None:
    """Return the no-show of an amended reservation; None for one that never had any.

    If the lease has `started` and the time differs, or it is to count `anew`, it counts from `now`.
    """
    if before is None:
        return NoShow(after, now if started else None) if after else None
    if before.after == after and not (after and started and anew):
        return before
    return NoShow(after, now if started else None)
