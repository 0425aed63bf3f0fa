"""How a lease waits for resources: when it is tried again, until when, and which window it would get.

`leasing/waiting/waiting.py` tries it. A lease keeps its `Waiting` for good, also after it was granted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long a lease waits, and how far that has come.

    It is tried again every `pause` at most `retries` times, or until `deadline`; exactly one of the two is given.
    `tried` counts those tries, and `next_try` is when the next one of them is due. Tries in between, because something
    became free, are not counted. `passed_over` says that the last try was refused for another reason than a lack of
    resources, such as a limit: nobody has to wait behind such a lease. `pools` are those that it would take from.
    `use_disabled` says that whoever made the lease may have disabled resources, `sees_private` that they may use
    private properties. `draws` are the numbers of the shared resources that are drawn for a best-effort lease; they and
    others are held for it while it waits (decision 0060).
    """

    since: datetime
    next_try: datetime
    pause: timedelta
    pools: frozenset[str]
    retries: int | None = None
    deadline: datetime | None = None
    tried: int = 0
    passed_over: bool = False
    granted: bool = False
    use_disabled: bool = False
    sees_private: bool = True
    draws: frozenset[int] = frozenset()

    @property
    def due(self) -> datetime:
        """When the lease has to be looked at again."""
        return self.next_try if self.deadline is None else min(self.next_try, self.deadline)

    def expired(self, now: datetime) -> bool:
        """Say whether the deadline has come."""
        return self.deadline is not None and self.deadline <= now

    def after_try(self, now: datetime, *, passed_over: bool) -> Waiting:
        """Return it after a try that was refused; one that was not due is not counted."""
        after = replace(self, passed_over=passed_over)
        if now < self.next_try:
            return after
        return replace(after, tried=self.tried + 1, next_try=now + self.pause)


@dataclass(frozen=True, slots=True)
class AskedPart:
    """What a reservation of a lease that waits asks for, and for how long."""

    resource_type: str
    request: Mapping[str, Any]
    lasts: timedelta


@dataclass(frozen=True, slots=True)
class WaitingLease:
    """A lease that waits: what an order of such leases may go by.

    `granted` is how many leases its project has that were granted and are not over. `asks` is what it asks for, where
    that is at hand: one that begins to wait is not stored yet.
    """

    id: str
    project_id: str
    user_id: str
    waiting: Waiting
    granted: int = 0
    asks: tuple[AskedPart, ...] = ()


def window_at(asked: Window, now: datetime) -> Window:
    """Return the window that a waiting lease would get at a moment: as asked while its start lies ahead.

    Otherwise it begins at that moment, in whole seconds, and lasts as long as asked.
    """
    begin = from_seconds(to_seconds(now))
    return asked if asked.start >= begin else Window(begin, begin + asked.duration)
