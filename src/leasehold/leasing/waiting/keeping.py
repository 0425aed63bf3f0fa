"""Keep a new lease that is not granted now: it waits, and its task tries it again (features A4 and A17)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import LONGEST_REASON
from leasehold.db.waiting import mark_waiting
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.waiting.best_effort import plan_window, planned_picks
from leasehold.leasing.waiting.holds import hold
from leasehold.leasing.waiting.waiting_list import AFTER_YOU, BEHIND, WaitingList, as_waiting, pools_to_lock
from leasehold.model.event_log import LeaseNews
from leasehold.model.states import LeaseStatus
from leasehold.model.tries import drawing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.decision import Write
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.errors import NotEnoughError
    from leasehold.model.lease import Lease
    from leasehold.model.placing.draw import DrawPlan
    from leasehold.model.terms.waiting import Waiting, WaitingLease


@dataclass(frozen=True, slots=True)
class Keeping:
    """How a new lease would wait.

    `plan` says which shared hosts may be drawn for a best-effort lease; without one UnplannedError is raised.
    """

    service: Service
    lease: Lease
    asked: Sequence[Asked]
    waiting: Waiting
    plan: DrawPlan | None

    def pools(self, connection: Connection) -> set[str]:
        """Return the pools that a decision about it locks."""
        if not self.lease.type.waits:
            return set(self.waiting.pools)
        return pools_to_lock(self.service, connection, self._as_waiting)

    def behind(self, locks: Locks, snapshots: Mapping[str, Snapshot], terms: Terms) -> Decision | None:
        """Return that it waits because another lease comes first that fits now; None if there is none."""
        if not self.lease.type.waits:
            return None
        first = WaitingList(self.service, locks, snapshots, terms.budget).first_ahead(self._as_waiting)
        if first is None:
            return None
        return replace(self._kept(locks, BEHIND, self.waiting, locks.now + AFTER_YOU), tries=[first])

    def refused(self, unit: Unit, locks: Locks, snapshots: Mapping[str, Snapshot], refusal: NotEnoughError) -> Decision:
        """Return that it waits because it was refused; a best-effort lease waits for the hosts of its plan."""
        lease, waiting, now = self.lease, self.waiting, locks.now
        if lease.type.waits:
            return self._kept(locks, refusal.message, waiting, waiting.due)
        window = plan_window(lease.window, waiting.deadline or now, now)
        terms = unit.terms(lease, window, locks, use_disabled=waiting.use_disabled)
        picks = planned_picks(locks.connection, self.plan, snapshots, self.asked, terms, refusal, now)
        numbers = {pick.resource_number for chosen in picks for pick in chosen}
        draws = frozenset() if self.plan is None else self.plan.draws & numbers
        return self._kept(locks, drawing(len(draws)), replace(waiting, draws=draws), waiting.due, numbers)

    @property
    def _as_waiting(self) -> WaitingLease:
        return as_waiting(self.lease, self.waiting)

    def _kept(self, locks: Locks, reason: str, waiting: Waiting, due: datetime, held: Collection[int] = ()) -> Decision:
        """Return that it waits for this reason, and that these resources are held for it."""
        status, reason = LeaseStatus.IN_PROGRESS, reason[:LONGEST_REASON]
        lease = replace(self.lease, status=status, status_reason=reason, waiting=waiting)
        # Whoever frees something meanwhile, on another node of a cluster too, then knows of this lease.
        writes: list[Write] = [partial(_mark, waiting.pools)]
        if held:
            writes.append(partial(hold, self.service, lease, held))
        return Decision(locks=locks, lease=lease, writes=writes, news=["lease.create", LeaseNews.WAITING], due=due)


def _mark(pools: Collection[str], locks: Locks) -> None:
    mark_waiting(locks.connection, pools)
