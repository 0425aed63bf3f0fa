"""The transaction in which a use case decides about leases: it looks and locks, and what it decides is written here.

A use case is a function from a unit to a `Decision`. It writes nothing itself, except that enforcement counts what the
project uses. It may run more than once: after a calendar had to be loaded, after a lost race, or after somebody has
approved of what it decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, overload

from leasehold.db.leases.lease import find_lease, lock_unchanged
from leasehold.db.pool import move_pools
from leasehold.db.project import CountedUse
from leasehold.db.store import UnknownOutcomeError
from leasehold.enforcement.deciding import Deciding
from leasehold.leasing.approval import UNASKED
from leasehold.leasing.deciding.decide import promised_window
from leasehold.leasing.locks import ChangedMeanwhileError, Locks, lock
from leasehold.leasing.once import done_before
from leasehold.model.errors import LeaseholdError
from leasehold.model.terms.lead import Lead

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.enforcement.deciding import ProjectUse
    from leasehold.enforcement.external import ExternalCall
    from leasehold.leasing.approval import Approval
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.deciding.decide import Terms
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.service import Service
    from leasehold.model.draft import Once
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression
    from leasehold.model.refusal import Refusal
    from leasehold.model.windows import Window

    Along: TypeAlias = Callable[[Connection, Lease], object]
    """What a transaction does last, with the lease as it leaves it; if it raises, nothing is changed."""


class NoTraceError(Exception):
    """Ends a transaction without a trace, with the lease that it would make (idea 5) or that its key has made."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(lease.id)
        self.lease = lease


@dataclass(frozen=True, slots=True)
class Joins:
    """For whom and for which pools a decision may be made together with others, `about` a lease as it was seen."""

    project_id: str
    pools: frozenset[str]
    about: Lease | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What a use case is decided with: the `conditions` that it evaluates, each with its pool, and what was sent along.

    `asks` is the call by which an external service approves what is decided for a project, None if nobody is asked.
    What was ordered `once` is carried out once; a `dry_run` leaves no trace. With `joins` it may be decided together
    with others, unless it changes more, or leaves no trace.
    """

    conditions: Sequence[tuple[str, Expression]] = ()
    asks: tuple[ExternalCall, str] | None = None
    once: Once | None = None
    dry_run: bool = False
    along: Along | None = None
    joins: Joins | None = None


PLAIN = Order()


@dataclass(frozen=True, slots=True)
class Unit:
    """One transaction of a use case, before it has locked anything."""

    service: Service
    connection: Connection
    order: Order
    approval: Approval
    evaluated: Evaluated
    use: ProjectUse

    @property
    def explains(self) -> bool:
        """Whether a refusal has a counter-offer, and somebody makes room; if not, it is asked for again."""
        return True

    @property
    def refused(self) -> tuple[int, Refusal] | None:
        """The refusal that is to be explained, with the position of the reservation, if it is known."""
        return None

    @property
    def now(self) -> datetime:
        """The time at present; locks have their own, which is later."""
        return self.service.now()

    @property
    def settled(self) -> Collection[str]:
        """The leases about which was decided before in this transaction; nothing of it is written yet."""
        return ()

    @property
    def deciding(self) -> Deciding:
        """What enforcement may use now."""
        return Deciding(self.use, self.now, self.service.types)

    def check_undone(self) -> None:
        """Raise NoTraceError if the order was carried out before, and the errors of `done_before`."""
        made = done_before(self.connection, self.order.once)
        if made is not None:
            raise NoTraceError(made)

    def lock(self, pools: Collection[str]) -> Locks:
        """Lock pools."""
        return lock(self.connection, pools, self.service.now)

    def lock_and_move(self, pools: Collection[str]) -> Locks:
        """Lock pools for a use case that changes all of them or fails (`move_pools`)."""
        moved = move_pools(self.connection, pools)
        return Locks(self.connection, moved, self.service.now())

    def lock_as_seen(self, seen: Lease, pools: Collection[str]) -> tuple[Locks, Lease]:
        """Lock and move pools, and then lock a lease that was looked at; raises ChangedMeanwhileError if it changed.

        The same generation means the same allocations, but for those on vacated hosts that were released since, and for
        those of a lease that has not started and made room for another one.
        """
        locks = self.lock_and_move(pools)
        lease = self.as_seen(seen)
        if lease is None:
            raise ChangedMeanwhileError
        return locks, lease

    def as_seen(self, seen: Lease) -> Lease | None:
        """Lock a lease that was looked at, after its pools, and return it as it is; None if it changed."""
        return lock_unchanged(self.connection, seen)

    def snapshots(self, locks: Locks) -> AbstractContextManager[dict[str, Snapshot]]:
        """Return the locked pools as they are, inside a block; raises what `Calendars.synced` raises."""
        return self.service.calendars.synced(self.connection, locks.pools, locks.now, self.evaluated)

    def terms(self, lease: Lease, window: Window, locks: Locks, *, use_disabled: bool = False) -> Terms:
        """Return the terms of a decision that begins now, about the lease in this window, as far as that is ahead."""
        ahead = promised_window(window.start, window.end, locks.now)
        lead = Lead(lease.lead, locks.now)
        return self.service.terms(ahead, window.duration, use_disabled=use_disabled, lead=lead)


def bound(unit: Unit, decision: Decision) -> Decision:
    """Return the decision as the clauses of features let it be written, each with what that clause writes beside it.

    Each may refuse it, by a LeaseholdError.
    """
    for clause in unit.service.clauses:
        decision = clause(unit, decision)
    return decision


@overload
def run(
    service: Service, case: Callable[[Unit], Decision], order: Order = PLAIN, approval: Approval = UNASKED
) -> Lease: ...
@overload
def run(
    service: Service, case: Callable[[Unit], Decision | None], order: Order = PLAIN, approval: Approval = UNASKED
) -> Lease | None: ...
def run(
    service: Service, case: Callable[[Unit], Decision | None], order: Order = PLAIN, approval: Approval = UNASKED
) -> Lease | None:
    """Decide, write the decision and commit; return the lease as it is then, or None if there was nothing to decide.

    What was counted of the project stays if the use case refuses: else the next request would count again, as slowly.
    Raises what the use case raises, TakesTooLongError, and NoTraceError for a dry run.
    """
    refused: list[LeaseholdError] = []

    def work(evaluated: Evaluated, connection: Connection) -> Lease | None:
        refused.clear()
        use = CountedUse(connection, service.types.whole)
        try:
            unit = Unit(service, connection, order, approval, evaluated, use)
            decision = case(unit)
            decision = None if decision is None else bound(unit, decision)
        except LeaseholdError as error:
            if order.dry_run or not use.undo_but_count():
                raise
            refused.append(error)
            return None
        if decision is None:
            return None
        lease = decision.write(service.calendars, order.once)
        if order.along is not None:
            order.along(connection, lease)
        if order.dry_run:
            # As it would be found, with its allocations.
            raise NoTraceError(find_lease(connection, lease.id, offered=True) or lease)
        return lease

    lease = None
    try:
        lease = service.decide(work, order.conditions)
    except UnknownOutcomeError:
        # A refusal stands, whatever became of its count.
        if not refused:
            raise
    if refused:
        raise refused.pop()
    return lease
