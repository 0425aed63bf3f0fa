"""The present moment by the database's clock, so that all processes agree even if their machines' clocks do not.

The clock decides what is due and which claim has expired. Two managers whose machines disagree by minutes would take
each other's claims and end leases early, so all processes use the clock that they share, the database's. A process
reads it every `EVERY_SECONDS` and counts on by the machine's steady clock in between. It reads on a connection of its
own in a thread of its own, so no caller and no transaction waits for it. Setting a machine's time changes nothing. On
SQLite all processes run on one machine and share its clock.

Following a clock that jumps ahead would end every lease in between. So a jump is not followed: the process counts on
from the time before it until the clock comes back or an operator accepts the jump (decision 0021).
"""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from leasehold.db.engine import open_aside
from leasehold.db.tables import clock as clock_table
from leasehold.metrics.database import clock_held

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

log = logging.getLogger(__name__)

EVERY_SECONDS = 30.0
RETRY_SECONDS = 5.0
FIRST_TRIES = 3
SLOW_SECONDS = 1.0
"""An answer that took longer is too inaccurate and is discarded."""
TOLERANCE = timedelta(seconds=3)
"""How far a machine's clock may be from the database's before a warning is logged."""


JUMP = timedelta(minutes=5)
"""A clock that differs by more than this from the expected time is not followed; operators may change the limit."""
ACCEPTED_FOR = timedelta(hours=1)
"""How long an operator's acceptance of a jump is valid for processes that have not read it yet."""
SEEN_EVERY = timedelta(minutes=1)
BELIEVED_WITHIN = timedelta(minutes=3)
"""If any process follows the clock, it was last believed within this time."""
SAY_AGAIN_SECONDS = 300.0


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC; only this function reads the machine's clock."""
    return datetime.now(UTC)


def steady() -> float:
    """Return the seconds of a clock that cannot be set; on Linux it also runs while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class ClockReading(NamedTuple):
    """One reading of a clock: its `moment`, the steady clock `at` that moment, and the seconds that the answer `took`.

    `seen_at` is when any process last believed that clock, and `accepted_at` when an operator last accepted a jump,
    both in the time of that clock.
    """

    moment: datetime
    at: float
    took: float = 0.0
    seen_at: datetime | None = None
    accepted_at: datetime | None = None


class SharedClock:
    """A clock that follows another one; `ask` reads that one, and may raise SQLAlchemyError."""

    def __init__(
        self,
        ask: Callable[[], ClockReading],
        *,
        machine: Callable[[], datetime],
        steady: Callable[[], float] = steady,
        keep: Callable[[datetime], None] = lambda _moment: None,
        jump: timedelta = JUMP,
    ) -> None:
        """Begin with the machine's time, before the first reading.

        `keep` stores the moment that was believed, `jump` is the largest change of the clock that is followed.
        """
        self._ask = ask
        self._keep = keep
        self._jump = jump
        self._machine = machine
        self._steady = steady
        self._look = ClockReading(machine(), steady())
        self._due = self._look.at
        self._starting = Lock()
        self._looking: Thread | None = None
        self._known_gap = timedelta(0)
        self._answered = False
        self._held_since: float | None = None

    def now(self) -> datetime:
        """Return the present moment; when the next reading is due, start it in another thread."""
        at = self._steady()
        if at >= self._due:
            self._send()
        look = self._look
        return look.moment + timedelta(seconds=at - look.at)

    def look(self) -> bool:
        """Read the clock and count on from the answer; say whether there was a usable one.

        Without an answer, count on from the reading before and try again after `RETRY_SECONDS`.
        """
        self._due = self._steady() + RETRY_SECONDS
        try:
            look = self._ask()
        except SQLAlchemyError as error:
            log.info("The database does not say what time it is; trying again in %g s: %s", RETRY_SECONDS, error)
            return False
        if look.took > SLOW_SECONDS:
            log.info("The database took %.1f s to say what time it is; trying again", look.took)
            return False
        expected = self._look.moment + timedelta(seconds=look.at - self._look.at)
        jumped = self._jumped(look, expected)
        self._answered = True
        if jumped and not _accepted(look, expected, self._jump):
            self._hold(look.moment - expected)
            return True
        self._release(accepted=jumped)
        self._look = look
        self._due = self._steady() + EVERY_SECONDS
        self._compare(self._machine() - self.now())
        self._note(look)
        return True

    def _jumped(self, look: ClockReading, expected: datetime) -> bool:
        """Say whether the clock has jumped.

        The first answer is compared with the machine's clock, which may be the wrong one. So the database's clock is
        also believed if some process believed it a moment ago, or if it is behind the machine's.
        """
        if self._answered:
            return abs(look.moment - expected) > self._jump
        left_alone = look.seen_at is not None and look.moment - look.seen_at > self._jump
        return left_alone and look.moment - expected > self._jump

    def _hold(self, jump: timedelta) -> None:
        """Count on from the reading before, and log the jump now and every `SAY_AGAIN_SECONDS`."""
        clock_held(held=True)
        at = self._steady()
        if self._held_since is not None and at - self._held_since < SAY_AGAIN_SECONDS:
            return
        self._held_since = at
        log.error(
            "The database's clock is %.0f s %s where it should be. It is not followed, so that no lease ends early: "
            "time goes on as counted so far. Set that clock right, or, if it is right now, run "
            "leasehold-manage clock accept.",
            abs(jump.total_seconds()),
            "ahead of" if jump > timedelta(0) else "behind",
        )

    def _release(self, *, accepted: bool) -> None:
        clock_held(held=False)
        if self._held_since is None and not accepted:
            return
        self._held_since = None
        log.warning(
            "The database's clock is followed again: %s",
            "an operator has accepted it" if accepted else "it is where it should be",
        )

    def _note(self, look: ClockReading) -> None:
        """Store that the clock was believed, unless some process did so within `SEEN_EVERY`."""
        if look.seen_at is not None and abs(look.moment - look.seen_at) < SEEN_EVERY:
            return
        try:
            self._keep(look.moment)
        except SQLAlchemyError as error:
            log.info("Cannot store when the database's clock was last believed: %s", error)

    def _send(self) -> None:
        """Start a thread that reads the clock, unless one runs; after a fork the parent's thread counts as ended."""
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._looking is None or not self._looking.is_alive():
                self._looking = Thread(target=self.look, name="clock", daemon=True)
                self._looking.start()
        finally:
            self._starting.release()

    def _compare(self, gap: timedelta) -> None:
        """Log when the machine's clock departs from the database's, and when it agrees again."""
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


def shared_clock(engine: Engine, jump: timedelta = JUMP) -> Callable[[], datetime]:
    """Return a function that tells the time shared by all processes of this database, without following a `jump`."""
    if engine.dialect.name == "sqlite":
        return utc_now
    aside = open_aside(engine.url)
    clock = SharedClock(partial(_ask, aside), machine=utc_now, keep=partial(_keep_seen, aside), jump=jump)
    # Until the first answer the machine's own clock counts, so wait for one.
    any(clock.look() for _ in range(FIRST_TRIES))
    return clock.now


def accept_clock(engine: Engine) -> datetime:
    """Make all processes follow the database's clock to its present time, and return that time."""
    aside = open_aside(engine.url)
    moment = _ask(aside).moment
    with aside.connect() as connection:
        connection.execute(update(clock_table).values(accepted_at=moment))
    return moment


def ask_clock(engine: Engine) -> ClockReading:
    """Return what the database's clock says now, and when it was last believed and accepted."""
    return _ask(open_aside(engine.url))


def is_believed(look: ClockReading) -> bool:
    """Say whether some process follows the clock: each one that does stores so once a minute."""
    return look.seen_at is not None and abs(look.moment - look.seen_at) <= BELIEVED_WITHIN


def _accepted(look: ClockReading, expected: datetime, jump: timedelta) -> bool:
    """Say whether an operator has accepted this jump, and not an earlier one."""
    if look.accepted_at is None or not timedelta(0) <= look.moment - look.accepted_at <= ACCEPTED_FOR:
        return False
    return abs(look.accepted_at - expected) > jump / 2


def _keep_seen(aside: Engine, moment: datetime) -> None:
    with aside.connect() as connection:
        connection.execute(update(clock_table).values(seen_at=moment))


def _ask(aside: Engine) -> ClockReading:
    """Read the server's clock; `took` does not include the time to connect."""
    postgresql = aside.dialect.name == "postgresql"
    question = "SELECT clock_timestamp()" if postgresql else "SELECT UTC_TIMESTAMP(6)"
    with aside.connect() as connection:
        before = steady()
        moment: datetime = connection.exec_driver_sql(question).scalar_one()
        after = steady()
        seen_at, accepted_at = _record(connection)
    moment = moment.astimezone(UTC) if postgresql else moment.replace(tzinfo=UTC)
    return ClockReading(moment, (before + after) / 2, after - before, seen_at, accepted_at)


def _record(connection: Connection) -> tuple[datetime | None, datetime | None]:
    """Return when the clock was last believed and when accepted; None for both in a database without our tables."""
    try:
        known = connection.execute(select(clock_table.c.seen_at, clock_table.c.accepted_at)).first()
    except ProgrammingError as error:
        log.debug("The database does not record when its clock was believed: %s", error)
        return None, None
    return (None, None) if known is None else (known.seen_at, known.accepted_at)
