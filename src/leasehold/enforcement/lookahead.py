"""How far ahead a lease may start and end (feature H3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.errors import TooFarAheadError

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.deciding import Deciding
    from leasehold.model.lease import Lease


class MaxLookaheadFilter:
    """Refuses leases that start later than `max_start_lookahead` or end later than `max_end_lookahead` from now.

    In an amendment, only a start or an end that moves to a later time is checked, so a lease that is older than the
    limit may still be shortened.
    """

    def __init__(self, settings: LeaseSettings) -> None:
        self._start = settings.limits.start_lookahead
        self._end = settings.limits.end_lookahead
        self._open_ended = settings.open_ended

    @property
    def limits(self) -> bool:
        """Whether any horizon is configured."""
        return (self._start, self._end) != (None, None)

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise TooFarAheadError for a new lease beyond a horizon."""
        _check("start", lease.window.start, self._start, deciding.now)
        _check("end", self._end_of(lease, deciding), self._end, deciding.now)

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Raise TooFarAheadError for a start or an end that moves later, beyond its horizon."""
        if proposed.window.start > lease.window.start:
            _check("start", proposed.window.start, self._start, deciding.now)
        if proposed.window.end > lease.window.end:
            _check("end", self._end_of(proposed, deciding), self._end, deciding.now)

    def _end_of(self, lease: Lease, deciding: Deciding) -> datetime:
        return deciding.counted(lease, self._open_ended).end if lease.open_ended else lease.window.end


def _check(what: str, moment: datetime, most: timedelta | None, now: datetime) -> None:
    if most is None or moment - now <= most:
        return
    latest = now + most
    message = (
        f"The lease would {what} {moment:%Y-%m-%d %H:%M} UTC, and a lease may {what} at most "
        f"{most.total_seconds():.0f} seconds from now. Choose a {what}_date not after {latest:%Y-%m-%d %H:%M} UTC."
    )
    details = {"limit_seconds": int(most.total_seconds()), "latest": f"{latest:%Y-%m-%dT%H:%M:%SZ}"}
    raise TooFarAheadError(message, field=f"{what}_date", details=details)
