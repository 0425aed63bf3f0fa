"""How many requests wait for an answer of the cloud (docs/decisions/0029).

A request gives its place back while it waits, so that a cloud that answers slowly keeps nobody else out. It still holds
a thread of the server. So the number of those that wait is bounded, in total and for each project.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.api.shares import Shares
from leasehold.cloud.ports import CloudTransientError
from leasehold.metrics.request import CLOUD, count_shed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.api.admission_control import Permit
    from leasehold.conf.settings import ApiSettings

MESSAGE = "the cloud answers slowly, and too many requests wait for it already"


def most_asking(settings: ApiSettings) -> int:
    """Return how many requests wait for the cloud at the same time in one process: as many as are let in or wait."""
    return max(2, settings.threads + settings.waiting)


class CloudWaits:
    """The requests of one process that wait for the cloud; shared by all threads."""

    def __init__(self, settings: ApiSettings) -> None:
        """Start with nobody waiting. One project has at most half of the places."""
        self._shares = Shares(most_asking(settings))

    @contextmanager
    def call(self, permit: Permit, project_id: str) -> Iterator[None]:
        """Lend the request's place to others while the block calls the cloud.

        Raises CloudTransientError instead when too many wait already, and OverloadedError when there is no place after
        the call. The request counts as waiting until it has its place again.
        """
        with self._shares.permit(project_id) as shared:
            if not shared:
                if permit.needed:
                    count_shed(CLOUD)
                raise CloudTransientError(MESSAGE)
            with permit.lent():
                yield
