"""What one lease may be: how long (contract lifecycle §10.1), how far ahead (feature H3), and how much (feature H4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.errors import InvalidInputError, LimitExceededError, TooFarAheadError, TooMuchAskedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.deciding import Deciding
    from leasehold.model.lease import Lease


class MaxLeaseDurationFilter:
    """Refuses leases longer than `max_lease_duration`, except those of exempt projects."""

    def __init__(self, settings: LeaseSettings) -> None:
        self._most = settings.max_duration
        self._exempt = settings.max_duration_exempt_projects
        self._open_ended = settings.open_ended

    @property
    def limits(self) -> bool:
        """Whether a longest duration is configured."""
        return self._most is not None

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise LimitExceededError (403) for a new lease that is too long."""
        if reason := self._reason(lease, deciding):
            raise LimitExceededError(reason, field="end_date")

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Raise InvalidInputError (400) for an amendment that makes a lease too long.

        A lease that is older than the limit may still be shortened, or changed without becoming longer.
        """
        longer = proposed.counted_window.duration > lease.counted_window.duration
        if longer and (reason := self._reason(proposed, deciding)):
            raise InvalidInputError(reason, field="end_date")

    def _reason(self, lease: Lease, deciding: Deciding) -> str | None:
        duration = deciding.counted(lease, self._open_ended).duration
        if self._most is None or lease.project_id in self._exempt or duration <= self._most:
            return None
        seconds = duration.total_seconds()
        return (
            f"Lease duration of {seconds:.0f} seconds must be less than or equal to the "
            f"maximum lease duration of {self._most.total_seconds():.0f} seconds; choose an earlier end_date."
        )


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


class MaxLeaseSizeFilter:
    """Refuses leases with more reservations, or with more of one resource type, than a lease may have.

    An amendment is refused only where it asks for more than the lease had.
    """

    def __init__(self, settings: LeaseSettings) -> None:
        self._reservations = settings.limits.reservations
        self._amounts = settings.limits.amounts

    @property
    def limits(self) -> bool:
        """Whether any size is limited."""
        return self._reservations is not None or bool(self._amounts)

    def check_count(self, count: int) -> None:
        """Raise TooMuchAskedError if one lease may not have this many reservations, before any other check of them."""
        if self._reservations is not None and count > self._reservations:
            raise _refusal("reservations", count, self._reservations)

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise TooMuchAskedError for a new lease that is too large."""
        self.check_count(len(lease.reservations))
        self._check_amounts(_amounts(lease, deciding), {}, deciding)

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Raise TooMuchAskedError for a lease that becomes too large."""
        self._check_amounts(_amounts(proposed, deciding), _amounts(lease, deciding), deciding)

    def _check_amounts(self, asked: Mapping[str, int], before: Mapping[str, int], deciding: Deciding) -> None:
        for kind, most in self._amounts.items():
            amount = asked.get(kind, 0)
            if amount > max(most, before.get(kind, 0)):
                raise _refusal(deciding.types.noun(kind), amount, most)


def _amounts(lease: Lease, deciding: Deciding) -> dict[str, int]:
    """Return by type how much the lease may get."""
    found: dict[str, int] = {}
    for part in lease.kept:
        found[part.resource_type] = found.get(part.resource_type, 0) + deciding.types.amount(part)
    return found


def _refusal(what: str, asked: int, most: int) -> TooMuchAskedError:
    message = (
        f"The lease asks for {asked} {what}, and one lease may have {most}. "
        "Ask for less, make several leases, or ask an administrator."
    )
    return TooMuchAskedError(message, field="reservations", details={"limit": most, "asked": asked, "what": what})
