"""Jobs of managers, and the turn of one of them: rounds that no other does meanwhile (`db.periodic_lock`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.db.periodic_lock import add_periodic_lock, keep_periodic_lock, take_periodic_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from threading import Event

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

PART = 0.9
"""A turn for one round lasts this part of the interval: our own next round must not find it taken."""


class Turn:
    """A manager's hold of the work `kind`; each `take` and `keep` is for `lasts` from then on.

    It is never given up: where its manager dies or does no more, another one takes it after `until`.
    """

    def __init__(self, service: Service, kind: str, lasts: timedelta) -> None:
        self._service = service
        self._kind = kind
        self._lasts = lasts
        self.until: datetime | None = None
        """Until when it is ours; None: the last `take` or `keep` was refused."""

    @classmethod
    def of_one_round(cls, service: Service, kind: str, every: float) -> Turn:
        """Return the turn for one round of those that come every so many seconds."""
        return cls(service, kind, timedelta(seconds=every) * PART)

    def take(self) -> bool:
        """Begin a turn if that of every manager, this one included, is over; say whether it has begun."""
        try:
            self.until = self._service.db.transact(self._taken)
        except IntegrityError:
            self.until = None
        return self.until is not None

    def keep(self) -> bool:
        """Extend the turn if it still is ours, and say whether it is."""
        if self.until is not None:
            self.until = self._service.db.transact(partial(self._kept, self.until))
        return self.until is not None

    def _taken(self, connection: Connection) -> datetime | None:
        add_periodic_lock(connection, self._kind)
        now = self._service.now()
        until = now + self._lasts
        return until if take_periodic_lock(connection, self._kind, now, until) else None

    def _kept(self, mine: datetime, connection: Connection) -> datetime | None:
        until = self._service.now() + self._lasts
        return until if keep_periodic_lock(connection, self._kind, mine, until) else None


@dataclass(frozen=True, slots=True)
class Job:
    """Done by each manager every `every` seconds, first after one interval; with a `turn`, by the one that takes it.

    `run` gets the event that the manager stops. What it raises is logged, and the next run tries again.
    """

    name: str
    every: float
    run: Callable[[Event], object]
    turn: Turn | None = None
