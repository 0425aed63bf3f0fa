"""Requests that come while others of the same pools are decided are decided together next: one lock and one commit.

The first request is decided at once, by itself. Whoever comes meanwhile waits, and one of these leads the next batch.
Each stands for itself: what one asks for changes nothing for the others but what is free. One that cannot be decided
with others is decided in a transaction of its own afterwards, and so are all if the batch fails (decision 0125).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, ClassVar, Final

from leasehold.db.pool import move_pools
from leasehold.db.project_use import SharedUse, UncountedError, give_back, take_together
from leasehold.db.store import UnknownOutcomeError
from leasehold.enforcement.deciding import Deciding
from leasehold.leasing.approval import UnapprovedError
from leasehold.leasing.deciding.decide import RefusedError
from leasehold.leasing.deciding.decision import NewLease, write_together
from leasehold.leasing.deciding.queue import Queued
from leasehold.leasing.locks import Locks
from leasehold.leasing.unit import NoTraceError, Unit
from leasehold.model.errors import LeaseholdError
from leasehold.model.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.approval import Approval
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Order

LOG = getLogger(__name__)


class Joining(ABC):
    """A use case that makes a new lease, and locks its pools between two steps; it may run more than once."""

    @abstractmethod
    def __call__(self, unit: Unit) -> Decision:
        """Decide by itself."""

    @property
    @abstractmethod
    def joins(self) -> bool:
        """Whether it may be decided together with others."""

    @property
    @abstractmethod
    def project_id(self) -> str:
        """Who gets the lease."""

    @property
    @abstractmethod
    def pools(self) -> frozenset[str]:
        """The pools that it locks."""

    @abstractmethod
    def wanted(self, unit: Unit) -> Any:
        """Return what is asked for, within the limits of its project."""

    @abstractmethod
    def decided(self, unit: Unit, locks: Locks, wanted: Any) -> Decision:
        """Return what is decided about it."""


NOT_HERE: Final = (UncountedError, RefusedError, LeaseholdError)
"""What says, once the pools are locked, that a request is not granted as they are: alone, the refusal is explained."""


@dataclass(frozen=True, slots=True)
class _SharedUnit(Unit):
    """The unit of one request of a batch, which sees what those before it get; it locks nothing by itself."""

    use: SharedUse
    views: dict[str, Snapshot]
    explains: ClassVar[bool] = False

    @property
    def deciding(self) -> Deciding:
        """What enforcement may use now; it counts nothing."""
        return Deciding(self.use, self.now, self.service.types)

    @contextmanager
    def snapshots(self, locks: Locks) -> Iterator[dict[str, Snapshot]]:  # noqa: ARG002 - they are locked for all
        """Yield the pools with what the requests before this one get."""
        yield {pool: view.answering(self.evaluated.get(pool)) for pool, view in self.views.items()}

    def book(self, decision: Decision) -> None:
        """Let the requests after this one see what is decided."""
        for pool, picks, window in decision.taken:
            self.views[pool] = self.views[pool].booked(picks, window)


@dataclass(slots=True, eq=False)
class _Member(Queued):
    """One request: how it is decided, and its `outcome`; None: it has to be decided alone."""

    service: Service
    case: Joining
    order: Order
    approval: Approval
    evaluated: Evaluated
    context: Context = field(default_factory=copy_context)
    outcome: Lease | Exception | None = None


def decide_together(
    service: Service, case: Joining, order: Order, approval: Approval, alone: Callable[[], Lease]
) -> Lease:
    """Decide a request, at once if nobody is before it, else together with those that wait; return its lease.

    `alone` decides it by itself. Raises what the use case raises, and what `Database.transact` raises.
    """
    evaluated = service.evaluated(order.conditions)
    member = _Member(case.pools, case.project_id, service, case, order, approval, evaluated)

    def decided(batch: Sequence[_Member]) -> None:
        if len(batch) > 1:
            _decide(batch)
        else:
            member.outcome = alone()

    service.queues.decide(member, decided)
    if isinstance(member.outcome, Exception):
        raise member.outcome
    return member.outcome or alone()


def _decide(batch: Sequence[_Member]) -> None:
    """Decide requests together, and set the outcome of each."""
    service = batch[0].service
    try:
        service.decide(partial(_decided, service, batch))
    except UnknownOutcomeError as error:
        for each in batch:
            if isinstance(each.outcome, Lease):
                each.outcome = UnknownOutcomeError(*error.args)
    except Exception:
        # Whatever it is, each meets it alone, or is not concerned.
        LOG.warning("%d requests could not be decided together, so each is decided alone.", len(batch), exc_info=True)
        for each in batch:
            each.outcome = None


def _decided(service: Service, batch: Sequence[_Member], _: Evaluated, connection: Connection) -> None:
    """Decide and write what is asked for, in its order; it is not committed, and may be done again."""
    views: dict[str, Snapshot] = {}
    units = [
        _SharedUnit(each.service, connection, each.order, each.approval, each.evaluated, SharedUse(), views)
        for each in batch
    ]
    wanted: dict[int, Any] = {}
    keys: set[tuple[str, str]] = set()
    for position, (each, unit) in enumerate(zip(batch, units, strict=True)):
        once, each.outcome = each.order.once, None
        # A key that comes twice has to be found by the second, when the first is committed.
        if (once is None or (once.project_id, once.key) not in keys) and (asked := _wanted(each, unit)) is not None:
            wanted[position] = asked
            if once is not None:
                keys.add((once.project_id, once.key))
    full = take_together(connection, (units[position].use for position in wanted), service.now())
    wanted = {position: asked for position, asked in wanted.items() if batch[position].case.project_id not in full}
    if not wanted:
        return
    locks = Locks(connection, move_pools(connection, batch[0].case.pools), service.now())
    new: list[NewLease] = []
    with service.calendars.synced(connection, locks.pools, locks.now, {}) as views_now:
        views |= views_now
        for position, asked in wanted.items():
            each, unit = batch[position], units[position]
            decision = _granted(each, unit, locks, asked)
            if decision is None:
                give_back(connection, unit.use, locks.now)
            else:
                unit.book(decision)
                new.append(NewLease(decision, each.order.once, each.context))
    write_together(new, locks, service.calendars)


def _wanted(each: _Member, unit: _SharedUnit) -> Any:
    """Return what is asked for; None if the request has its outcome, or has to be decided alone."""
    try:
        return each.context.run(each.case.wanted, unit)
    except UncountedError:
        return None
    except (LeaseholdError, NoTraceError) as error:
        each.outcome = error
        return None


def _granted(each: _Member, unit: _SharedUnit, locks: Locks, asked: Any) -> Decision | None:
    """Return the decision that grants the lease, which is the outcome then; None if it is not granted here."""
    try:
        decision: Decision = each.context.run(each.case.decided, unit, locks, asked)
    except UnapprovedError as error:
        each.outcome = error
        return None
    except NOT_HERE:
        return None
    if not decision.only_grants:
        return None
    each.outcome = decision.lease
    return decision
