"""What the limits on leases say about the windows that a search finds; nothing is counted as taken."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.enforcement.deciding import Deciding
from leasehold.leasing.new_lease import new_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import LimitExceededError, TooMuchHeldError
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from leasehold.db.project_use import KnownUse
    from leasehold.enforcement.base import Enforcement
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """The limits on a lease, which is asked for in some window; `ends` is when its project uses less, ascending."""

    enforcement: Enforcement
    deciding: Deciding
    lease: Lease
    ends: Sequence[int]

    def denied(self, window: Window) -> LimitExceededError | None:
        """Return why the lease may not be had in a window; None if it may."""
        try:
            self.enforcement.check_create(replace(self.lease, window=window), self.deciding)
        except LimitExceededError as error:
            return error
        return None

    def later(self, error: LimitExceededError, window: Window) -> int | None:
        """Return when the first window begins that may be allowed after this one, which is denied; None without one.

        Only what the project has at one moment becomes less: a lease that begins later ends later, and is as long.
        """
        if not isinstance(error, TooMuchHeldError) or error.details["asked"] > error.details["limit"]:
            return None
        position = bisect_right(self.ends, to_seconds(window.start))
        return self.ends[position] if position < len(self.ends) else None


def window_limits(
    service: Service, caller: Caller, asked: Sequence[Asked], use: KnownUse, now: datetime, length: timedelta
) -> WindowLimits:
    """Return what the limits say about a caller's lease of these reservations, at first in a window of this length."""
    window = Window(now, now + length)
    lease = new_lease(service, caller, LeaseDraft("", window.start, window.end), asked, window, now)
    return WindowLimits(service.enforcement, Deciding(use, now, service.types), lease, use.ends)
