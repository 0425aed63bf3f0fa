"""The job of capacity alarms: one manager at a time checks them all (decision 0048).

It keeps the turn while it lives, so that one manager alone has calendars for it; when it dies, another one takes it
after `ROUNDS` intervals. Each crossing is written with its event by a compare-and-swap, so it is told once even if two
managers check at the same moment.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.features.alarm.options import AlarmSettings
from leasehold.features.alarm.use import AlarmWatch
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

ALARM_LOCK = "alarms"
ROUNDS = 3
"""After so many intervals without a round the turn is free."""


def jobs(service: Service) -> Sequence[Job]:
    """Check the alarms every `[manager] alarm_seconds`, unless it is 0."""
    seconds = service.settings.of(AlarmSettings).alarm_seconds
    rounds = AlarmRounds(service)
    return [Job("alarms", seconds, lambda _: rounds.run())] if seconds else []


class AlarmRounds:
    """Checks the alarms, if no other manager does."""

    def __init__(self, service: Service) -> None:
        every = timedelta(seconds=service.settings.of(AlarmSettings).alarm_seconds)
        self._watch = AlarmWatch(service)
        self._turn = Turn(service, ALARM_LOCK, ROUNDS * every)

    def run(self) -> None:
        """Check the alarms if there are any and the turn is ours."""
        if self._watch.needed() and (self._turn.keep() or self._turn.take()):
            self._watch.check()
        else:
            self._watch.forget()
