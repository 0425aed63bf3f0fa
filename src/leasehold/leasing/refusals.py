"""Counts of refused requests: each process keeps them for some seconds, then adds them to the database.

So a refusal writes nothing itself: it stays as quick as before, and who sends refused requests by the thousand makes no
rows by the thousand. What a process has counted and not written when it is killed is lost (decision 0105).
"""

from __future__ import annotations

import atexit
import logging
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from leasehold.db.refusal import add_refusals
from leasehold.db.store import UnknownOutcomeError
from leasehold.metrics.decision import UNCOUNTED

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.model.refused import Refused

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 10.0
"""How long counts stay in memory at most."""
MOST_REASONS: Final = 5_000
"""Reasons that are kept at the same time; refusals for further ones are counted as lost."""


@dataclass(slots=True)
class RefusalCounts:
    """The counts of this process; any thread may add to them.

    A thread writes them `pause` seconds after the first; with None they are written when they are read.
    """

    db: Database
    pause: float | None = None
    _lock: Lock = field(default_factory=Lock)
    _counts: Counter[tuple[datetime, Refused]] = field(default_factory=Counter)
    _timer: Timer | None = None

    def note(self, now: datetime, refused: Refused) -> None:
        """Count a refusal."""
        key = (now.replace(minute=0, second=0, microsecond=0), refused)
        with self._lock:
            if key not in self._counts and len(self._counts) >= MOST_REASONS:
                UNCOUNTED.inc()
                return
            self._counts[key] += 1
            self._begin_timer()

    def write(self) -> None:
        """Add what was counted to the database; what cannot be written now stays for the next time."""
        with self._lock:
            counts, self._counts, timer, self._timer = self._counts, Counter(), self._timer, None
        if timer is not None:
            timer.cancel()
        if not counts:
            return
        try:
            _write(self.db, counts)
        except (SQLAlchemyError, UnknownOutcomeError):
            log.exception("Refusals could not be counted in the database; they are added later")
            with self._lock:
                self._counts.update(counts)
                self._begin_timer()

    def _begin_timer(self) -> None:
        if self._timer is not None or self.pause is None:
            return
        self._timer = Timer(self.pause, self.write)
        self._timer.daemon = True
        self._timer.start()


def counted_until_exit(db: Database) -> RefusalCounts:
    """Return the counts of a program, which writes them after a pause, and what is left of them when it ends."""
    counts = RefusalCounts(db, PAUSE_SECONDS)
    atexit.register(counts.write)
    return counts


def _write(db: Database, counts: Counter[tuple[datetime, Refused]]) -> None:
    def work(connection: Connection) -> None:
        add_refusals(connection, counts)

    try:
        db.transact(work)
    except IntegrityError:
        # Another process wrote one of the rows first; now it is found.
        db.transact(work)
