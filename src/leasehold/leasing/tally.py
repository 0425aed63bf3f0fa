"""Counts that a process keeps for some seconds and then adds to the database: what is counted waits for no write.

So who sends what is counted by the thousand makes no rows by the thousand. What a process has counted and not written
when it is killed is lost.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from leasehold.db.store import UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection

    from leasehold.db.store import Database

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 10.0
"""How long counts stay in memory at most."""
MOST_KEYS: Final = 5_000
"""Keys that are kept at the same time; what is counted for further ones is lost."""

Key = TypeVar("Key")


@dataclass(slots=True)
class Tally(Generic[Key]):
    """The counts of this process; any thread may add to them.

    `add` writes them, and raises IntegrityError when another process writes a new row at the same moment; `lost` is
    called for each that cannot be kept. A thread writes them `pause` seconds after the first; with None they are
    written when they are read.
    """

    db: Database
    add: Callable[[Connection, Mapping[Key, int]], None]
    lost: Callable[[], object]
    pause: float | None = None
    _lock: Lock = field(default_factory=Lock)
    _counts: Counter[Key] = field(default_factory=Counter)
    _timer: Timer | None = None

    def count(self, counts: Mapping[Key, int]) -> None:
        """Add to some counts."""
        with self._lock:
            new = counts.keys() - self._counts.keys()
            if new and len(self._counts) + len(new) > MOST_KEYS:
                self.lost()
                return
            self._counts.update(counts)
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
            self._write(counts)
        except (SQLAlchemyError, UnknownOutcomeError):
            log.exception("What was counted could not be added in the database; it is added later")
            with self._lock:
                self._counts.update(counts)
                self._begin_timer()

    def _write(self, counts: Mapping[Key, int]) -> None:
        def work(connection: Connection) -> None:
            self.add(connection, counts)

        try:
            self.db.transact(work)
        except IntegrityError:
            # Another process wrote one of the rows first; now it is found.
            self.db.transact(work)

    def _begin_timer(self) -> None:
        if self._timer is not None or self.pause is None:
            return
        self._timer = Timer(self.pause, self.write)
        self._timer.daemon = True
        self._timer.start()
