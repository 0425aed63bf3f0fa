"""The reminder: tells projects that their leases end soon (decision 0043).

Every manager runs it. What it has told is recorded with the lease in the same transaction, so that it is told once.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.leasing.reminder import remind
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


class Reminder(PeriodicThread):
    """Looks for leases that end soon every `[manager] warn_poll_seconds`."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("reminder", service.settings.manager.warn_poll_seconds)
        self._service = service

    def run_once(self) -> None:
        """Remind of what is due; errors are logged, and the next run tries again."""
        try:
            remind(self._service)
        except Exception:
            log.exception("Reminders of ends could not be written; the next run tries again")
