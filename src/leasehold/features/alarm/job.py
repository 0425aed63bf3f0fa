"""The job of capacity alarms: one manager at a time checks them all (decision 0048).

It keeps a periodic lock while it lives, so that one manager alone has calendars for it; when it dies, another one takes
the lock after `ROUNDS` intervals. Each crossing is written with its event by a compare-and-swap, so it is told once
even if two managers check at the same moment.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.db.periodic_lock import add_periodic_lock, keep_periodic_lock, take_periodic_lock
from leasehold.features.alarm.options import AlarmSettings
from leasehold.features.alarm.use import AlarmWatch
from leasehold.leasing.job import Job

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

ALARM_LOCK = "alarms"
ROUNDS = 3
"""After so many intervals without a round the lock is free."""


def jobs(service: Service) -> Sequence[Job]:
    """Check the alarms every `[manager] alarm_seconds`, unless it is 0."""
    seconds = service.settings.of(AlarmSettings).alarm_seconds
    return [Job("alarms", seconds, AlarmRounds(service).run)] if seconds else []


class AlarmRounds:
    """Checks the alarms, if no other manager does."""

    def __init__(self, service: Service) -> None:
        """Start without the lock."""
        self._service = service
        self._watch = AlarmWatch(service)
        self._mine: datetime | None = None

    def run(self) -> None:
        """Check the alarms if there are any and the lock is ours."""
        if self._watch.needed() and self._take_lock():
            self._watch.check()
        else:
            self._watch.forget()

    def _take_lock(self) -> bool:
        try:
            self._mine = self._service.db.transact(self._renewed)
        except IntegrityError:
            self._mine = None
        return self._mine is not None

    def _renewed(self, connection: Connection) -> datetime | None:
        """Keep the lock or take it, and return until when it is ours; None: another manager has it."""
        now = self._service.now()
        until = now + ROUNDS * timedelta(seconds=self._service.settings.of(AlarmSettings).alarm_seconds)
        add_periodic_lock(connection, ALARM_LOCK)
        taking = partial(take_periodic_lock, connection, ALARM_LOCK, now, until)
        keeping = partial(keep_periodic_lock, connection, ALARM_LOCK)
        held = (self._mine is not None and keeping(self._mine, until)) or taking()
        return until if held else None
