"""What becomes of each lease, seen after each task of it: how late it starts and why, its tries, and its grant."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, select

from bench.simulation.site import LEAD
from leasehold.db.tables import leases
from leasehold.db.task import LEASE
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from datetime import datetime

    from bench.simulation.people import People
    from bench.simulation.site import Site
    from leasehold.db.task import Claim

GRANTED_AFTER_WAITING: Final = "granted after waiting"
GAVE_UP: Final = "timed out"
FAILED_TRY: Final = "tries refused"
STARTED: Final = "started"
OPERATORS: Final = "maintenance"
AHEAD: Final = timedelta(minutes=3)
"""A look for preemptible servers comes so long after a grant at the latest."""
NEVER: Final = "It was over before it was active"
_NAMES = ("name", "status", "status_reason", "start_at", "end_at", "created_at", "deleted_at")
_ROW = select(*(leases.c[name] for name in _NAMES)).where(leases.c.id == bindparam("lease"))


@dataclass(frozen=True, slots=True)
class Late:
    """A lease that was not active when it should have been; `reasons` are what it said meanwhile."""

    lease_id: str
    name: str
    should: datetime
    by: timedelta
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        """Return a line for people."""
        said = "; ".join(self.reasons) or "it gave no reason"
        return f"{self.name} ({self.lease_id}), due {self.should:%m-%d %H:%M:%S}, was {self.by} late: {said}"


@dataclass
class _Seen:
    """What is known of a lease: its last status, when it was granted, whether it has started, and what it has said."""

    status: str
    granted: datetime
    started: bool = False
    reasons: dict[str, None] = field(default_factory=dict)


@dataclass
class Watch:
    """Looks at the lease of each task, and tells the people which has started.

    `counts` counts by the way to get a lease and by what happened; `late` are the leases that started late or never,
    and `waited` how long leases had waited that were granted after that.
    """

    site: Site
    people: People
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    late: list[Late] = field(default_factory=list)
    waited: list[timedelta] = field(default_factory=list)
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def after_task(self, claim: Claim) -> None:
        """Look at the lease of a task that has just run."""
        if claim.kind != LEASE:
            return
        with self.site.world.service.db.reading() as connection:
            row = connection.execute(_ROW, {"lease": claim.subject}).first()
        if row is None:
            return
        held = self.people.held.get(claim.subject)
        if claim.subject not in self._seen:
            first = LeaseStatus.IN_PROGRESS if held is not None and held.kept else LeaseStatus.PENDING
            self._seen[claim.subject] = _Seen(first, row.created_at)
        seen = self._seen[claim.subject]
        way = OPERATORS if held is None else held.wish.way
        if seen.status == LeaseStatus.IN_PROGRESS:
            self._look_at_try(way, row, seen)
        else:
            self._look_at_start(claim.subject, way, row, seen)
        seen.status = row.status

    def _look_at_try(self, way: str, row: Any, seen: _Seen) -> None:
        """Count what became of a lease that has waited until now."""
        if row.deleted_at is not None:
            return
        if row.status == LeaseStatus.IN_PROGRESS:
            self.counts[way, FAILED_TRY] += 1
        elif row.status == LeaseStatus.PENDING:
            self.counts[way, GRANTED_AFTER_WAITING] += 1
            seen.granted = self.site.now()
            self.waited.append(seen.granted - row.created_at)
        else:
            self.counts[way, GAVE_UP] += 1
            seen.started = True  # It never has to.

    def _look_at_start(self, lease_id: str, way: str, row: Any, seen: _Seen) -> None:
        """Note a start with its delay; or what a lease says that should have started."""
        now, should = self.site.now(), max(row.start_at, seen.granted)
        # With a lead it may be active before its start.
        if seen.started or (now < should and row.status != LeaseStatus.ACTIVE):
            return
        if row.status == LeaseStatus.ACTIVE:
            seen.started = True
            self.counts[way, STARTED] += 1
            self.people.started(lease_id, row.start_at, row.end_at)
        elif row.status in (LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ERROR):
            seen.reasons[row.status_reason or row.status] = None
            return
        else:
            seen.started = True
            seen.reasons[NEVER] = None
        # What is granted within the lead ends preemptible servers at its start, and waits until they are gone; a short
        # lease may be over by then.
        soon = timedelta(0) if seen.granted <= row.start_at - LEAD - AHEAD else LEAD
        if now > should + soon and row.end_at > should + soon:
            self.late.append(Late(lease_id, row.name, should, now - should, tuple(seen.reasons)))
