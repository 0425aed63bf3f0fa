"""The present moment as the database has it, so that all processes agree about it whatever their machines say.

What is due and whose claim has run out is judged by the clock. Two managers whose machines disagree by minutes would
take each other's work and end leases early; so the clock that counts is the one they share. It is asked now and then,
over a connection of its own, and in between the machine's steady clock counts on: nobody waits for it, no transaction
of anybody's speaks with it, and setting a machine's time changes nothing. On SQLite all processes are on one machine,
and its clock is the one they share.

A clock that jumps ahead would end every lease in between, so a jump is not followed: the time that was counted so far
goes on until the clock comes back or an operator accepts it (decision 0021).
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
from leasehold.metrics.clock import clock_held

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

log = logging.getLogger(__name__)

EVERY_SECONDS = 30.0
RETRY_SECONDS = 5.0
FIRST_TRIES = 3
SLOW_SECONDS = 1.0
"""An answer that took longer says too little about the present; it counts as none."""
TOLERANCE = timedelta(seconds=3)
"""How far a machine's clock may be from the database's before somebody should hear of it."""


JUMP = timedelta(minutes=5)
"""A clock that is further than this from where it should be is not followed; operators may choose another limit."""
ACCEPTED_FOR = timedelta(hours=1)
"""How long after an operator has accepted a jump a process may learn of it."""
SEEN_EVERY = timedelta(minutes=1)
BELIEVED_WITHIN = timedelta(minutes=3)
"""A clock that is followed was believed less long ago."""
SAY_AGAIN_SECONDS = 300.0


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC: the one place that reads the machine's clock."""
    return datetime.now(UTC)


def steady() -> float:
    """Return seconds that nobody can set; where the system has such a clock, it runs on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Look(NamedTuple):
    """What a clock said, what the steady clock showed then, and how many seconds it took to get the answer.

    `seen_at` is when that clock was last believed, by any process, and `accepted_at` when an operator last accepted a
    jump, both as that clock said then.
    """

    moment: datetime
    at: float
    took: float = 0.0
    seen_at: datetime | None = None
    accepted_at: datetime | None = None


class SharedClock:
    """A clock that another one is the measure of; `ask` asks that one, and may raise SQLAlchemyError."""

    def __init__(
        self,
        ask: Callable[[], Look],
        *,
        machine: Callable[[], datetime],
        steady: Callable[[], float] = steady,
        keep: Callable[[datetime], None] = lambda _moment: None,
        jump: timedelta = JUMP,
    ) -> None:
        """Begin with what the machine says; nobody has been asked yet.

        `keep` writes down what was believed, `jump` is the largest change of the clock that is followed.
        """
        self._ask = ask
        self._keep = keep
        self._jump = jump
        self._machine = machine
        self._steady = steady
        self._look = Look(machine(), steady())
        self._due = self._look.at
        self._starting = Lock()
        self._looking: Thread | None = None
        self._known_gap = timedelta(0)
        self._answered = False
        self._held_since: float | None = None

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

    def _jumped(self, look: Look, expected: datetime) -> bool:
        """Say whether the clock is where it cannot be.

        The first answer is measured by the machine's clock, which may be the one that is wrong: so the database's is
        believed as well where somebody believed it a moment ago, or where it is the one that is behind.
        """
        if self._answered:
            return abs(look.moment - expected) > self._jump
        left_alone = look.seen_at is not None and look.moment - look.seen_at > self._jump
        return left_alone and look.moment - expected > self._jump

    def _hold(self, jump: timedelta) -> None:
        """Count on from where we were, and say so, now and every few minutes."""
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

    def _note(self, look: Look) -> None:
        """Write down that the clock was believed, unless somebody has just done so."""
        if look.seen_at is not None and abs(look.moment - look.seen_at) < SEEN_EVERY:
            return
        try:
            self._keep(look.moment)
        except SQLAlchemyError as error:
            log.info("That the database's clock was believed cannot be written down: %s", error)

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


def shared_clock(engine: Engine, jump: timedelta = JUMP) -> Callable[[], datetime]:
    """Return what tells the time that all processes on this database share; a change by more than `jump` is held."""
    if engine.dialect.name == "sqlite":
        return utc_now
    aside = open_aside(engine.url)
    clock = SharedClock(partial(_ask, aside), machine=utc_now, keep=partial(_keep_seen, aside), jump=jump)
    # Before the first answer the machine's own clock would count.
    any(clock.look() for _ in range(FIRST_TRIES))
    return clock.now


def accept_clock(engine: Engine) -> datetime:
    """Have all processes follow the database's clock to where it is now, and return what it says."""
    aside = open_aside(engine.url)
    moment = _ask(aside).moment
    with aside.connect() as connection:
        connection.execute(update(clock_table).values(accepted_at=moment))
    return moment


def ask_clock(engine: Engine) -> Look:
    """Return what the database's clock says now, and when it was last believed and accepted."""
    return _ask(open_aside(engine.url))


def is_believed(look: Look) -> bool:
    """Say whether some process has followed the clock a moment ago: each writes that down once a minute."""
    return look.seen_at is not None and abs(look.moment - look.seen_at) <= BELIEVED_WITHIN


def _accepted(look: Look, expected: datetime, jump: timedelta) -> bool:
    """Say whether an operator has accepted this jump, and not another one before it."""
    if look.accepted_at is None or not timedelta(0) <= look.moment - look.accepted_at <= ACCEPTED_FOR:
        return False
    return abs(look.accepted_at - expected) > jump / 2


def _keep_seen(aside: Engine, moment: datetime) -> None:
    with aside.connect() as connection:
        connection.execute(update(clock_table).values(seen_at=moment))


def _ask(aside: Engine) -> Look:
    """Ask a server; how long it takes to connect is no part of the answer."""
    postgresql = aside.dialect.name == "postgresql"
    question = "SELECT clock_timestamp()" if postgresql else "SELECT UTC_TIMESTAMP(6)"
    with aside.connect() as connection:
        before = steady()
        moment: datetime = connection.exec_driver_sql(question).scalar_one()
        after = steady()
        seen_at, accepted_at = _record(connection)
    moment = moment.astimezone(UTC) if postgresql else moment.replace(tzinfo=UTC)
    return Look(moment, (before + after) / 2, after - before, seen_at, accepted_at)


def _record(connection: Connection) -> tuple[datetime | None, datetime | None]:
    """Return when the clock was believed and when accepted; a database without our tables knows of neither."""
    try:
        known = connection.execute(select(clock_table.c.seen_at, clock_table.c.accepted_at)).first()
    except ProgrammingError as error:
        log.debug("Nothing is written down of the database's clock: %s", error)
        return None, None
    return (None, None) if known is None else (known.seen_at, known.accepted_at)
