"""The order of leases that wait: whoever has waited longest comes first (feature A17).

A lease is not granted while one that has waited longer would fit at the same moment. One that would not fit delays
nobody, and neither does one whose last try was refused for another reason, such as a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.db.lease import find_leases
from leasehold.db.waiting import ahead_of
from leasehold.leasing.decide import Asked, RefusedError, Terms, decide, promised_window
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.waiting import window_at
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.service import Service
    from leasehold.model.budget import Budget
    from leasehold.model.lease import Lease

Place = tuple["datetime", str]
"""Since when a lease waits, and its id."""


def asked_of(service: Service, lease: Lease) -> list[Asked]:
    """Return what a lease asks for; raises MissingPluginError."""
    kinds = [(service.types.get(part.resource_type).kind, part) for part in lease.reservations]
    return [Asked(kind, kind.load(part.request)) for kind, part in kinds]


def pools_in_line(connection: Connection, pools: Collection[str], place: Place | None) -> set[str]:
    """Return these pools, and those of the leases ahead that wait for any of them: what a fair decision locks."""
    return set(pools).union(*(waiting.pools for _, waiting in ahead_of(connection, pools, place)))


@dataclass(frozen=True, slots=True)
class Line:
    """The leases that wait, at one moment; `snapshots` are of the locked pools, and `budget` bounds the search."""

    service: Service
    connection: Connection
    snapshots: Mapping[str, Snapshot]
    now: datetime
    budget: Budget

    def first_ahead(self, pools: Collection[str], place: Place | None) -> str | None:
        """Return the lease that has waited longest and would fit now; None if none would.

        With a `place`, only of those before it. If the search takes too long, nobody is ahead any more.
        """
        ids = [
            ident
            for ident, waiting in ahead_of(self.connection, pools, place)
            if not waiting.passed_over and not waiting.expired(self.now) and waiting.pools <= self.snapshots.keys()
        ]
        if not ids:
            return None
        found = {lease.id: lease for lease in find_leases(self.connection, ids)}
        try:
            return next((each for each in ids if each in found and self._fits(found[each])), None)
        except TakesTooLongError:
            return None

    def _fits(self, lease: Lease) -> bool:
        if not lease.waits:
            return False
        window, margin = window_at(lease.window, self.now), self.service.settings.leases.cleaning_time
        ahead = promised_window(window.start, window.end, self.now)
        terms = Terms(ahead, window.duration, margin, self.budget, Explain.NOTHING)
        try:
            decide(self.snapshots, asked_of(self.service, lease), terms)
        except TakesTooLongError:
            raise
        except (LeaseholdError, RefusedError):
            return False
        return True
