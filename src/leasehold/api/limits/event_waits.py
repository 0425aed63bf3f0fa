"""Requests that wait for an event: one thread of the process looks for events, for all of them (decision 0037).

A waiting request has released its permit and asks the database nothing. Under `leasehold-api` it has no thread either
(`parking.py`); under another WSGI server it has one. The number of waiting requests is bounded, in total and for each
project. Beyond the bound a request is answered at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from leasehold.db.event_log import last_by_project, log_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.limits.admission_control import AdmissionControl
    from leasehold.conf.settings import ApiSettings
    from leasehold.db.store import Database

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
"""Pause between two looks for events, while requests wait."""
PAUSE_AFTER_TROUBLE = 1.0
SECONDS_APART, MOST_SECONDS_APART = 0.002, 1.0
"""Pause between two requests that are woken for the same event, and how long one waits for a free permit."""


def most_with_threads(settings: ApiSettings) -> int:
    """Return how many requests may wait in a process whose server needs a thread for each: four times `threads`."""
    return min(settings.event_waits, 4 * settings.threads)


@dataclass(frozen=True, slots=True, eq=False)
class Waiter:
    """A request of `caller` that waits for an event of `project_id` (None: any) after a position.

    `end` is the moment of the monotonic clock at which it gives up. `wake` is called once, by another thread.
    """

    caller: str
    project_id: str | None
    after: int
    end: float
    wake: Callable[[], None]


class EventWaits:
    """The waiting requests of one process; shared by all threads."""

    def __init__(self, database: Database, settings: ApiSettings, admission: AdmissionControl) -> None:
        """Start with none. All of them are woken when the process is about to stop.

        The looking thread runs only while requests wait, so that a server may fork before.
        """
        self._database = database
        self._settings = settings
        self._admission = admission
        self._lock = Lock()
        self._waiters: set[Waiter] = set()
        self._of_caller: Counter[str] = Counter()
        self._looking = False
        self._since = self._seen = 0
        self._last_of: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many requests wait now."""
        return len(self._waiters)

    def begin(self, waiter: Waiter) -> bool:
        """Let a request wait that holds no thread; return False if too many wait, all or of its caller's project."""
        return self._begin(waiter, self._settings.event_waits)

    def wait(self, caller: str, project_id: str | None, after: int, end: float) -> bool:
        """Wait in this thread until there may be news, or until the end; return False at once if too many wait."""
        woken = Event()
        waiter = Waiter(caller, project_id, after, end, woken.set)
        return self._begin(waiter, most_with_threads(self._settings)) and woken.wait()

    def _begin(self, waiter: Waiter, most: int) -> bool:
        with self._lock:
            if len(self._waiters) >= most or self._of_caller[waiter.caller] >= max(1, most // 2):
                return False
            if not self._looking:
                self._looking, self._since, self._seen, self._last_of = True, waiter.after, waiter.after, {}
                Thread(target=self._look, name="events", daemon=True).start()
            self._waiters.add(waiter)
            self._of_caller[waiter.caller] += 1
        return True

    def _look(self) -> None:
        """Look for events until nobody waits."""
        while True:
            pause = LOOK_SECONDS
            try:
                self._look_once()
            except Exception:
                # Drivers raise many types of errors. Those who wait get an empty list in time, and ask again.
                LOG.exception("The database does not say whether there are new events.")
                pause = PAUSE_AFTER_TROUBLE
            for waiter in self._take_ready():
                self._make_way()
                waiter.wake()
            sleep(pause)
            with self._lock:
                if not self._waiters:
                    self._looking = False
                    return

    def _make_way(self) -> None:
        """Wait for a free permit, so that of many requests that are woken for one event none is shed."""
        patience = monotonic() + MOST_SECONDS_APART
        sleep(SECONDS_APART)
        while not self._admission.has_room() and monotonic() < patience:
            sleep(SECONDS_APART)

    def _look_once(self) -> None:
        with self._database.reading() as connection:
            end = log_state(connection).end.position
            found = last_by_project(connection, self._seen) if end > self._seen else {}
        with self._lock:
            if end < self._seen:
                # The database went back: everybody who waits reads again, and is told so.
                self._since, self._last_of = self._seen + 1, {}
            elif self._since > self._seen:
                # They were woken after the last look.
                self._since = self._seen
            self._seen = end
            self._last_of |= found

    def _take_ready(self) -> list[Waiter]:
        """Return the requests that have waited long enough, which then wait no more."""
        now, closing = monotonic(), self._admission.closing
        with self._lock:
            ready = [each for each in self._waiters if closing or each.end <= now or self._is_news(each)]
            for each in ready:
                self._waiters.remove(each)
                self._of_caller[each.caller] -= 1
            self._of_caller = +self._of_caller
        return ready

    def _is_news(self, waiter: Waiter) -> bool:
        # What happened before `_since` is not known here, so somebody who asks for that reads again.
        if waiter.after < self._since:
            return True
        last = self._seen if waiter.project_id is None else self._last_of.get(waiter.project_id, 0)
        return last > waiter.after
