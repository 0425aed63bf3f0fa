"""The lead of a lease: for how long before its start its resources are reserved for the work of the start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leasehold.model.windows import EPOCH, Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NONE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Lead:
    """The lead `time` of a lease that is decided about at the moment `now`.

    All its reservations start in one step, so it is the longest lead time of their types.
    """

    time: timedelta
    now: datetime

    def reserved(self, window: Window) -> Window:
        """Return from when to when a lease in this window has its resources: not before now, and at its start at last.

        A lease without duration is never started, so nothing is reserved before it.
        """
        if not self.time or not window.duration:
            return window
        begin = max(window.start - self.time, from_seconds(to_seconds(self.now)))
        return Window(min(begin, window.start), window.end)


NO_LEAD = Lead(NONE, EPOCH)


def longest_lead(by_type: Mapping[str, timedelta], types: Iterable[tuple[str, str]]) -> timedelta:
    """Return the longest lead time of these types: each with its name, and that of the type whose resources it uses.

    A type that is not named in `by_type` has the lead time of the type whose resources it uses.
    """
    if not by_type:
        return NONE
    return max((by_type.get(name, by_type.get(resources, NONE)) for name, resources in types), default=NONE)
