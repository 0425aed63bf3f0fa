"""The longest time that a lease may last (contract lifecycle §10.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.errors import InvalidInputError, LimitExceededError

if TYPE_CHECKING:
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
