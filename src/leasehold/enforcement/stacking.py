"""How much a user may pile up, and how many host hours ahead a user or a project may have (feature H4, idea 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.project import host_seconds, peak
from leasehold.enforcement.given import CONFIGURED, HOST_HOURS, HOST_HOURS_PER_USER, HOSTS_PER_USER, LEASES_PER_USER
from leasehold.model.errors import TooManyHoursError, TooManyLeasesError, TooMuchHeldError

if TYPE_CHECKING:
    from leasehold.conf.settings import LeaseSettings
    from leasehold.db.project import Allocated
    from leasehold.enforcement.deciding import Deciding
    from leasehold.enforcement.given import Given
    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window

HOUR = 3600


class StackingFilter:
    """Refuses what would give a user too many open leases or hosts, or a user or a project too many host hours ahead.

    A user is counted in each project alone, so that the requests that count together queue at the project's row, as
    those of `ProjectLimitsFilter` do. New hosts count by the `max` of the request, granted ones by their number. Only
    the part of a window that lies ahead has host hours. An amendment is refused only where it asks for more.
    """

    def __init__(self, settings: LeaseSettings) -> None:
        limits = settings.limits
        self._most = {
            LEASES_PER_USER: limits.user_open_leases,
            HOSTS_PER_USER: limits.user_hosts,
            HOST_HOURS_PER_USER: limits.user_host_hours,
            HOST_HOURS: limits.project_host_hours,
        }
        self._open_ended = settings.open_ended

    @property
    def limits(self) -> bool:
        """Whether anything is limited."""
        return self._limits(CONFIGURED)

    def _limits(self, given: Given) -> bool:
        return any(given.over(name, most) is not None for name, most in self._most.items())

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise TooManyLeasesError, TooMuchHeldError or TooManyHoursError for a new lease."""
        given = deciding.given(lease.project_id)
        if not self._limits(given):
            return
        deciding.use.enter(lease.project_id)
        self._check_count(lease, deciding, given)
        hosts = _hosts(lease, deciding)
        if hosts:
            self._check_hosts(lease, hosts, deciding, given)
            self._check_hours(lease, hosts, deciding, given)

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Raise TooMuchHeldError or TooManyHoursError for an amendment that asks for more."""
        before, hosts = _hosts(lease, deciding), _hosts(proposed, deciding)
        inside = lease.counted_window.contains(proposed.counted_window)
        same = lease.asked == proposed.asked
        if not hosts or (inside and same):
            return
        if inside and hosts <= before:
            # The offer of a refusal may ask about later windows, when the pools are locked.
            if self.limits or deciding.gives:
                deciding.use.enter(lease.project_id)
            return
        given = deciding.given(lease.project_id)
        if not self._limits(given):
            return
        deciding.use.enter(lease.project_id)
        self._check_hosts(proposed, hosts, deciding, given)
        if hosts * self._ahead(proposed, deciding) > before * self._ahead(lease, deciding):
            self._check_hours(proposed, hosts, deciding, given)

    def _over(self, name: str, given: Given) -> int | None:
        return given.over(name, self._most[name])

    def _check_count(self, lease: Lease, deciding: Deciding, given: Given) -> None:
        most = self._over(LEASES_PER_USER, given)
        if most is None:
            return
        count = deciding.use.open_leases(lease.project_id, lease.user_id)
        # One that waits is counted already.
        if count + (not lease.waits) > most:
            name, fits = LEASES_PER_USER, most - count
            message = (
                f"You have {count} open leases in this project, and a user may have {most}{given.said(name, fits)}. "
                "Delete one, wait until one ends, or ask an administrator."
            )
            details = {"limit": most, "open": count, "of": "user", **given.details(name, fits)}
            raise TooManyLeasesError(message, details=details)

    def _check_hosts(self, lease: Lease, hosts: int, deciding: Deciding, given: Given) -> None:
        most = self._over(HOSTS_PER_USER, given)
        if most is None:
            return
        window = lease.counted_window
        held = peak(_others(lease, deciding, lease.user_id, window), window).hosts
        if held + hosts > most:
            name, fits = HOSTS_PER_USER, most - held
            message = (
                f"The lease asks for {hosts} hosts, your other leases in this project have up to {held} then, and a "
                f"user may have {most}{given.said(name, fits)}. Ask for less or for another time, delete a lease, or "
                "ask an administrator."
            )
            details = {"what": "hosts", "limit": most, "asked": hosts, "held": held, "of": "user"}
            details |= given.details(name, fits)
            raise TooMuchHeldError(message, field="reservations", details=details)

    def _check_hours(self, lease: Lease, hosts: int, deciding: Deciding, given: Given) -> None:
        asked = hosts * self._ahead(lease, deciding)
        for of, user_id, name in (("user", lease.user_id, HOST_HOURS_PER_USER), ("project", None, HOST_HOURS)):
            most = self._over(name, given)
            if most is None:
                continue
            held = host_seconds(_others(lease, deciding, user_id), deciding.now, self._open_ended)
            if held + asked > most * HOUR:
                fits = most - held / HOUR
                whose = "your other leases in this project" if user_id else "the project's other leases"
                message = (
                    f"The lease asks for {asked / HOUR:g} hours of hosts, {whose} have {held / HOUR:g} ahead, and a "
                    f"{of} may have {most}{given.said(name, fits)}. Ask for fewer hosts or a shorter time, delete a "
                    "lease, or wait until less is ahead."
                )
                details = {"limit": most, "asked": asked / HOUR, "held": held / HOUR, "of": of}
                details |= given.details(name, fits)
                raise TooManyHoursError(message, field="reservations", details=details)

    def _ahead(self, lease: Lease, deciding: Deciding) -> int:
        """Return the seconds of a lease that lie ahead."""
        window = deciding.counted(lease, self._open_ended)
        return max(0, int((window.end - max(window.start, deciding.now)).total_seconds()))


def _others(lease: Lease, deciding: Deciding, user_id: str | None, window: Window | None = None) -> list[Allocated]:
    return deciding.use.allocated(lease.project_id, but=lease.id, user_id=user_id, window=window)


def _hosts(lease: Lease, deciding: Deciding) -> int:
    """Return how many whole hosts the lease may get by its requests."""
    return sum(deciding.types.use(part).hosts for part in lease.kept)
