"""The present moment as the database has it, so that all processes agree about it whatever their machines say.

What is due and whose claim has run out is judged by the clock. Two managers whose machines disagree by minutes would
take each other's work and end leases early; so the clock that counts is the one they share. It is asked now and then,
over a connection of its own, and in between the machine's steady clock counts on: nobody waits for it, no transaction
of anybody's speaks with it, and setting a machine's time changes nothing. On SQLite all processes are on one machine,
and its clock is the one they share.
"""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from leasehold.books.engine import open_aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

log = logging.getLogger(__name__)

EVERY_SECONDS = 30.0
RETRY_SECONDS = 5.0
FIRST_TRIES = 3
SLOW_SECONDS = 1.0
"""An answer that took longer says too little about the present; it counts as none."""
TOLERANCE = timedelta(seconds=3)
"""How far a machine's clock may be from the database's before somebody should hear of it."""


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC: the one place that reads the machine's clock."""
    return datetime.now(UTC)


def steady() -> float:
    """Return seconds that nobody can set; where the system has such a clock, it runs on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Look(NamedTuple):
    """What a clock said, what the steady clock showed then, and how many seconds it took to get the answer."""

    moment: datetime
    at: float
    took: float = 0.0


class SharedClock:
    """A clock that another one is the measure of; `ask` asks that one, and may raise SQLAlchemyError."""

    def __init__(
        self,
        ask: Callable[[], Look],
        *,
        machine: Callable[[], datetime],
        steady: Callable[[], float] = steady,
    ) -> None:
        """Begin with what the machine says; nobody has been asked yet."""
        self._ask = ask
        self._machine = machine
        self._steady = steady
        self._look = Look(machine(), steady())
        self._due = self._look.at
        self._starting = Lock()
        self._looking: Thread | None = None
        self._known_gap = timedelta(0)

    def now(self) -> datetime:
        """Return the present moment; when it is time to ask again, somebody else is sent."""
        at = self._steady()
        if at >= self._due:
            self._send()
        look = self._look
        return look.moment + timedelta(seconds=at - look.at)

    def look(self) -> bool:
        """Ask, and count on from the answer; without one from where we were, until the next try. Say which it was."""
        self._due = self._steady() + RETRY_SECONDS
        try:
            look = self._ask()
        except SQLAlchemyError as error:
            log.info("The database does not say what time it is; trying again in %g s: %s", RETRY_SECONDS, error)
            return False
        if look.took > SLOW_SECONDS:
            log.info("The database took %.1f s to say what time it is; trying again", look.took)
            return False
        self._look = look
        self._due = self._steady() + EVERY_SECONDS
        self._compare(self._machine() - self.now())
        return True

    def _send(self) -> None:
        """Have a thread look, unless one is at it; after a fork that one is with the parent, and counts as ended."""
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._looking is None or not self._looking.is_alive():
                self._looking = Thread(target=self.look, name="clock", daemon=True)
                self._looking.start()
        finally:
            self._starting.release()

    def _compare(self, gap: timedelta) -> None:
        """Say when the machine's clock has left the database's, and when it is back."""
        if abs(gap - self._known_gap) <= TOLERANCE:
            return
        self._known_gap = gap
        if abs(gap) <= TOLERANCE:
            log.info("The clock of this machine agrees with the database's again")
            return
        log.warning(
            "The clock of this machine is %.0f s %s the database's. Leases go by the database's. Set both by NTP.",
            abs(gap.total_seconds()),
            "ahead of" if gap > timedelta(0) else "behind",
        )


def shared_clock(engine: Engine) -> Callable[[], datetime]:
    """Return what tells the time that all processes on these books share."""
    if engine.dialect.name == "sqlite":
        return utc_now
    clock = SharedClock(partial(_ask, open_aside(engine.url)), machine=utc_now)
    # Before the first answer the machine's own clock would count.
    any(clock.look() for _ in range(FIRST_TRIES))
    return clock.now


def _ask(aside: Engine) -> Look:
    """Ask a server; how long it takes to connect is no part of the answer."""
    postgresql = aside.dialect.name == "postgresql"
    question = "SELECT clock_timestamp()" if postgresql else "SELECT UTC_TIMESTAMP(6)"
    with aside.connect() as connection:
        before = steady()
        moment: datetime = connection.exec_driver_sql(question).scalar_one()
        after = steady()
    moment = moment.astimezone(UTC) if postgresql else moment.replace(tzinfo=UTC)
    return Look(moment, (before + after) / 2, after - before)
