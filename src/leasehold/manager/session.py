"""The thread that removes the sessions of the web console whose time is over (decision 0096)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.leasing.session import purge_sessions
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

SECONDS = 600.0


class SessionPurger(PeriodicThread):
    """Removes the rows every ten minutes. They open nothing any more; several managers may do it at the same time."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("sessions", SECONDS)
        self._service = service

    def run_once(self) -> None:
        """Remove them; errors are logged, and the next round tries again. What was idle for long, the API removes."""
        try:
            purge_sessions(self._service, timedelta(0))
        except Exception:
            log.exception("Sessions that are over could not be removed; the next round tries again")
