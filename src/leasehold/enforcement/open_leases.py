"""How many leases a project may have open (feature H4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.books.project import count_open_leases, take_turn
from leasehold.model.errors import TooManyLeasesError

if TYPE_CHECKING:
    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.deciding import Deciding
    from leasehold.model.lease import Lease


class MaxOpenLeasesFilter:
    """Refuses a new lease to a project that has `max_open_leases` which are neither over nor deleted.

    Requests of one project take turns, so two at the same moment cannot both be the last one that fits; those of
    projects without a limit do not.
    """

    def __init__(self, settings: LeaseSettings) -> None:
        """Read the limit for all, and those of single projects."""
        self._most = settings.limits.open_leases
        self._by_project = settings.limits.open_leases_by_project

    @property
    def limits(self) -> bool:
        """Whether any project has a limit."""
        return self._most is not None or bool(self._by_project)

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise TooManyLeasesError when the project has as many open leases as it may have."""
        most = self._by_project.get(lease.project_id, self._most)
        if most is None:
            return
        take_turn(deciding.connection, lease.project_id)
        count = count_open_leases(deciding.connection, lease.project_id)
        if count >= most:
            message = (
                f"The project has {count} open leases, and it may have {most}. "
                "Delete one, wait until one ends, or ask an administrator."
            )
            raise TooManyLeasesError(message, details={"limit": most, "open": count})

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Let it pass: an amendment opens no lease."""
