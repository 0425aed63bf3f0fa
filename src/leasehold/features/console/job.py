"""The job of the web console: sessions whose time is over are removed (decision 0096)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.features.console.use import purge_sessions
from leasehold.leasing.turn import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

SECONDS = 600.0


def jobs(service: Service) -> Sequence[Job]:
    """Remove the rows. They open nothing any more, and what was idle for long, the API removes.

    Several managers may do it at the same time.
    """
    return [Job("sessions", SECONDS, lambda _: purge_sessions(service, timedelta(0)))]
