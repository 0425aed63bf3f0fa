"""Requests that come while others of the same pools are decided are decided together next: one lock and one commit.

The first request is decided at once, by itself. Whoever comes meanwhile waits, and one of these leads the next batch.
Each stands for itself: what one asks for changes nothing for the others but what is free. One that cannot be decided
with others is decided in a transaction of its own afterwards, and so are all if the batch fails (decision 0125). Those
who are refused are told why, at once if nobody is granted anything, else one by itself, then those that came meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from leasehold.db.committed import note_commit, noting_commits
from leasehold.db.leases.lease import lock_those_unchanged
from leasehold.db.pool import move_pools
from leasehold.db.project_use import SharedUse, UncountedError, give_back, take_together
from leasehold.db.store import UnknownOutcomeError, worth_retrying
from leasehold.leasing.approval import UnapprovedError
from leasehold.leasing.deciding.decide import RefusedError
from leasehold.leasing.deciding.decision import Decision, write_together
from leasehold.leasing.deciding.queue import Queued
from leasehold.leasing.lapse import REASONS, release_late
from leasehold.leasing.locks import ChangedMeanwhileError, Locks
from leasehold.leasing.unit import NoTraceError, Unit, bound
from leasehold.model.errors import LeaseholdError
from leasehold.model.lease import Lease
from leasehold.model.states import EventType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.approval import Approval
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Joins, Order
    from leasehold.model.budget import Budget
    from leasehold.model.refusal import Refusal

log = getLogger(__name__)
EXPLAINED = "explained"
"""In the keys of the queues of those that were refused where others were not."""


class CertainError(Exception):
    """A decision ends with this, and would end with it alone as well."""


_CERTAIN = (UnapprovedError, NoTraceError, ChangedMeanwhileError, CertainError)
"""What a decision ends with that would be the same alone."""


class _NothingError(Exception):
    """Nothing was granted, so the transaction is rolled back: the pools stay as they are."""


class Joining(ABC):
    """A use case about one lease that locks its pools between two steps; it may run more than once.

    None: there is nothing to decide any more, or not with others.
    """

    @abstractmethod
    def __call__(self, unit: Unit) -> Decision | None:
        """Decide by itself."""

    @abstractmethod
    def wanted(self, unit: Unit) -> Any:
        """Return what is asked for, within the limits of the project."""

    @abstractmethod
    def decided(self, unit: Unit, locks: Locks, wanted: Any) -> Decision | None:
        """Return what is decided about it."""


@dataclass(frozen=True, slots=True)
class _SharedUnit(Unit):
    """The unit of one request of a batch, which sees what those before it get; it locks nothing by itself."""

    use: SharedUse  # it counts nothing
    views: dict[str, Snapshot]
    unchanged: dict[str, Lease]
    booked: set[str]
    refused: tuple[int, Refusal] | None = None

    @property
    def explains(self) -> bool:
        """Whether the request was refused before in this transaction."""
        return self.refused is not None

    @property
    def settled(self) -> Collection[str]:
        """The leases of the requests before this one."""
        return self.booked

    @contextmanager
    def snapshots(self, locks: Locks) -> Iterator[dict[str, Snapshot]]:  # noqa: ARG002 - they are locked for all
        """Yield the pools with what the requests before this one get."""
        yield {pool: view.answering(self.evaluated.get(pool)) for pool, view in self.views.items()}

    def as_seen(self, seen: Lease) -> Lease | None:
        """Return a lease that was locked with those of the other requests; None if it changed since it was seen."""
        return self.unchanged.get(seen.id)

    def book(self, decision: Decision) -> None:
        """Let the requests after this one see what a lease has then; what it had in use may have to be cleaned."""
        before = decision.before
        if not decision.lease.waits:
            self.booked.add(decision.lease.id)
        if before is not None and not before.reached(EventType.START):
            mine = [part.id for part in before.reservations]
            self.views.update({pool: view.without(mine) for pool, view in self.views.items()})
        for _, pool, window, picks in decision.taken:
            self.views[pool] = self.views[pool].booked(picks, window)


@dataclass(slots=True, eq=False)
class _Member(Queued):
    """One request: how it is decided; `refused` says that this has to be explained."""

    service: Service
    case: Joining
    order: Order
    joins: Joins
    approval: Approval
    evaluated: Evaluated
    context: Context = field(default_factory=copy_context)
    refused: bool = False


Result = TypeVar("Result")
_Outcomes: TypeAlias = dict[_Member, Lease | Exception]


def decide_together(
    service: Service, case: Joining, order: Order, joins: Joins, approval: Approval, alone: Callable[[], Result]
) -> Lease | Result:
    """Decide a request, at once if nobody is before it, else together with those that wait; return its lease.

    `alone` decides it by itself. Raises what the use case and `Database.transact` raise, and the errors of its permit.
    """
    # Before it waits, so that nobody waits for its conditions; who is alone evaluates them with its decision.
    evaluated = service.evaluated(order.conditions) if service.queues.busy(joins.pools) else {}
    request = joins.project_id, service, case, order, joins, approval, evaluated
    member = _Member(joins.pools, *request)

    def by_itself() -> Lease | Result:
        if not member.refused:
            return alone()
        # Nobody who was granted something waits for an explanation.
        return service.queues.share(_Member((EXPLAINED, joins.pools), *request), alone, _decide)

    lease = service.queues.share(member, by_itself, _decide)
    note_commit()
    return lease


def _decide(batch: Sequence[_Member]) -> None:
    """Decide requests together, and set the outcome of each when it is certain."""
    service, outcomes = batch[0].service, _Outcomes()
    try:
        # What is committed is noted by those that it grants something.
        with noting_commits(), suppress(_NothingError):
            service.decide(partial(_decided, batch, outcomes))
    except UnknownOutcomeError as error:
        granted = [each for each, outcome in outcomes.items() if isinstance(outcome, Lease)]
        outcomes |= {each: UnknownOutcomeError(*error.args) for each in granted}
    except Exception as error:
        log.warning("%d requests could not be decided together.", len(batch), exc_info=True)
        # Without a database, which was tried long enough, each would only wait for it again.
        outcomes = dict.fromkeys(batch, error) if worth_retrying(error) else {}
    late = _end_late_offers(service, outcomes)
    for each in outcomes:
        each.refused = isinstance(outcomes[each], RefusedError)
        # Who may lack what late offers held is decided again, alone.
        if not each.refused and not (late and isinstance(outcomes[each], REASONS)):
            each.outcome = outcomes[each]
    # Errors keep the frames of the batch by their tracebacks, and these would keep them until all are collected.
    outcomes.clear()


def _end_late_offers(service: Service, outcomes: _Outcomes) -> bool:
    """Do once for all who are refused what `unless_late` does for one; what is decided stands if that fails."""
    try:
        return any(isinstance(each, REASONS) for each in outcomes.values()) and release_late(service)
    except Exception:
        log.warning("Nobody could look for offers that are over and still hold something.", exc_info=True)
        return False


def _decided(batch: Sequence[_Member], outcomes: _Outcomes, _: Evaluated, connection: Connection) -> None:
    """Decide and write what is asked for, in its order; it is not committed, and may be done again.

    Raises _NothingError if there is nothing to commit.
    """
    outcomes.clear()
    service = batch[0].service
    views: dict[str, Snapshot] = {}
    unchanged: dict[str, Lease] = {}
    shared = views, unchanged, set[str]()
    units = {
        each: _SharedUnit(each.service, connection, each.order, each.approval, each.evaluated, SharedUse(), *shared)
        for each in batch
    }
    wanted = _wanted(units, outcomes)
    full = take_together(connection, (unit.use for unit, _ in wanted.values()), service.now())
    wanted = {each: asked for each, asked in wanted.items() if each.project_id not in full}
    if not wanted:
        raise _NothingError
    locks = Locks(connection, move_pools(connection, batch[0].joins.pools), service.now())
    unchanged |= lock_those_unchanged(connection, [each.joins.about for each in wanted if each.joins.about])
    with service.calendars.synced(connection, locks.pools, locks.now, {}) as views_now:
        views |= views_now
        budget = service.budget()
        decided = _each(wanted, locks, budget, outcomes)
        if not decided:
            # Nobody who was granted something waits for these explanations.
            known = {it: (why.position, why.refusal) for it, why in outcomes.items() if isinstance(why, RefusedError)}
            again = {
                each: (replace(unit, refused=known[each]), it) for each, (unit, it) in wanted.items() if each in known
            }
            decided = _each(again, locks, budget.part(service.settings.leases.explanation_seconds), outcomes)
    if not decided:
        raise _NothingError
    give_back(connection, (unit.use for each, (unit, _) in wanted.items() if each not in decided), locks.now)
    after = write_together(
        [(decision, each.order.once, each.context) for each, decision in decided.items()], locks, service.calendars
    )
    outcomes |= zip(decided, after, strict=True)


def _each(
    wanted: Mapping[_Member, tuple[_SharedUnit, Any]], locks: Locks, budget: Budget, outcomes: _Outcomes
) -> dict[_Member, Decision]:
    """Return what is decided about each, in its order, and note what else is certain.

    Others wait for the pools, so all have the time of one decision, or explanation; who comes after it is alone.
    """
    decided: dict[_Member, Decision] = {}
    for each, (unit, asked) in wanted.items():
        outcomes.pop(each, None)
        decision = None if budget.spent else _one(each, unit, partial(each.case.decided, unit, locks, asked), outcomes)
        if decision is not None and decision.joins:
            decision = _one(each, unit, partial(bound, unit, decision), outcomes)
        if decision is not None and decision.joins:
            unit.book(decision)
            decided[each] = decision
    return decided


def _wanted(units: Mapping[_Member, _SharedUnit], outcomes: _Outcomes) -> dict[_Member, tuple[_SharedUnit, Any]]:
    """Return what is asked for and has to be decided, with its unit."""
    wanted: dict[_Member, tuple[_SharedUnit, Any]] = {}
    found: set[object] = set()
    for each, unit in units.items():
        # A key or a lease that comes twice is as the first leaves it when the second is decided.
        once, about = each.order.once, each.joins.about
        keys = {once and (once.project_id, once.key), about and about.id} - {None}
        if found & keys:
            continue
        found |= keys
        try:
            wanted[each] = unit, each.context.run(each.case.wanted, unit)
        except UncountedError:
            continue
        except (LeaseholdError, NoTraceError, CertainError) as error:
            outcomes[each] = error
    return wanted


def _one(each: _Member, unit: _SharedUnit, work: Callable[[], Decision | None], outcomes: _Outcomes) -> Decision | None:
    """Return the decision about the lease; None if there is none, with the reason as its outcome if that is certain."""
    try:
        decision = each.context.run(work)
    except (UncountedError, RefusedError, LeaseholdError, *_CERTAIN) as error:
        if isinstance(error, (*(REASONS if unit.explains else (RefusedError,)), *_CERTAIN)):
            outcomes[each] = error
        return None
    return decision
