"""The thread that tells the external service of the ends of leases (feature H5).

Every manager runs it. It is a thread of its own and not work of the pool, because a service that hangs would occupy all
threads of the pool (decision 0041).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.leasing.end_notices import deliver_end_notice
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


class EndNotices(PeriodicThread):
    """Delivers what is due, one message after the other, every `poll_seconds`."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("end notices", service.settings.manager.poll_seconds)
        self._service = service

    def run_once(self) -> None:
        """Deliver until nothing is due or a delivery fails; errors are logged, and the next run goes on."""
        try:
            while not self._stopping.is_set() and deliver_end_notice(self._service):
                pass
        except Exception:
            log.exception("The external service could not be told of an end; it is told in a later run")
