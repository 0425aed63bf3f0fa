"""The watcher of capacity alarms: one manager at a time checks them all (decision 0048).

It keeps a periodic lock while it lives, so that one manager alone has calendars for it; when it dies, another one takes
the lock after `ROUNDS` intervals. Each crossing is written with its event by a compare-and-swap, so it is told once
even if two managers check at the same moment.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.db.periodic_lock import add_periodic_lock, keep_periodic_lock, take_periodic_lock
from leasehold.leasing.alarm import AlarmWatch
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

ALARM_LOCK = "alarms"
ROUNDS = 3
"""After so many intervals without a round the lock is free."""


class AlarmWatcher(PeriodicThread):
    """Checks the alarms every `[manager] alarm_seconds`, if no other manager does."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("alarms", service.settings.manager.alarm_seconds)
        self._service = service
        self._watch = AlarmWatch(service)
        self._mine: datetime | None = None

    def run_once(self) -> None:
        """Check the alarms if there are any and the lock is ours; errors are logged, and the next round tries again."""
        try:
            if self._watch.needed() and self._take_lock():
                self._watch.check()
            else:
                self._watch.forget()
        except Exception:
            log.exception("The capacity alarms could not be checked; the next round tries again")

    def _take_lock(self) -> bool:
        try:
            self._mine = self._service.db.transact(self._renewed)
        except IntegrityError:
            self._mine = None
        return self._mine is not None

    def _renewed(self, connection: Connection) -> datetime | None:
        """Keep the lock or take it, and return until when it is ours; None: another manager has it."""
        now = self._service.now()
        until = now + ROUNDS * timedelta(seconds=self._seconds)
        add_periodic_lock(connection, ALARM_LOCK)
        taking = partial(take_periodic_lock, connection, ALARM_LOCK, now, until)
        keeping = partial(keep_periodic_lock, connection, ALARM_LOCK)
        held = (self._mine is not None and keeping(self._mine, until)) or taking()
        return until if held else None
