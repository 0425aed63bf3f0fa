"""Limits how many requests wait for the cloud at the same time (docs/decisions/0029).

A request releases its permit while it waits, so that a slow cloud does not block other requests. It still uses a thread
of the server, so the number of waiting requests is bounded, in total and for each project.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.api.limits.shares import Shares
from leasehold.cloud.ports import CloudTransientError
from leasehold.metrics.request import CLOUD, count_shed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.api.limits.admission_control import Permit
    from leasehold.conf.settings import ApiSettings

MESSAGE = "the cloud answers slowly, and too many requests wait for it already"


def most_asking(settings: ApiSettings) -> int:
    """Return how many requests of one process may wait for the cloud at the same time: all that run or wait to run."""
    return max(2, settings.threads + settings.waiting)


class CloudWaits:
    """The requests of one process that wait for the cloud; shared by all threads."""

    def __init__(self, settings: ApiSettings) -> None:
        """Start with no request waiting. One project gets at most half of the slots."""
        self._shares = Shares(most_asking(settings))

    @contextmanager
    def call(self, permit: Permit, project_id: str) -> Iterator[None]:
        """Release the request's permit while the block calls the cloud, and acquire one again after it.

        Raises CloudTransientError before the call when too many requests wait already, and OverloadedError after it
        when no permit is free in time. The request counts as waiting until it has a permit again.
        """
        with self._shares.permit(project_id) as shared:
            if not shared:
                if permit.needed:
                    count_shed(CLOUD)
                raise CloudTransientError(MESSAGE)
            with permit.lent():
                yield
