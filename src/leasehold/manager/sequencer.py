"""The sequencer: puts new events of the log in order, so that readers see them (decision 0037).

Every manager runs it. Its work is one transaction, which locks one row: if a manager dies, the next run of any manager
does the same.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.leasing.event_log import sequence_events
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


class Sequencer(PeriodicThread):
    """Gives new events their positions every `event_seconds`."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("sequencer", service.settings.manager.event_seconds)
        self._service = service

    def run_once(self) -> None:
        """Sequence what is there; errors are logged, and the next run tries again."""
        try:
            sequence_events(self._service)
        except Exception:
            log.exception("Events could not be put in order; readers get them after the next run")
