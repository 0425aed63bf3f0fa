"""Try a lease again that waits for resources: the decision of a new lease, when its pause is over or something is free.

A try commits the grant, or nothing; what was refused, and why, is then written in a transaction of its own. So a try
holds no resources and leaves no trace in what a project uses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from leasehold.db.pool import LockedPools
from leasehold.db.task import due_anew, still_ours
from leasehold.db.waiting import next_clean
from leasehold.enforcement.external import ExternalCall
from leasehold.leasing.approval import UNASKED, approved
from leasehold.leasing.batch import CertainError, Joining, decide_together
from leasehold.leasing.deciding.decide import RefusedError, decide, seen_by_users
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.deciding.default_properties import with_defaults
from leasehold.leasing.deciding.promised import Promised
from leasehold.leasing.deciding.rebinding_search import RoomMade
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.room.rebinding import Rebinding
from leasehold.leasing.unit import Joins, Order, run
from leasehold.leasing.waiting.holds import Draws, draws_of, is_held, let_go
from leasehold.leasing.waiting.waiting_list import (
    AFTER_YOU,
    BEHIND,
    WaitingList,
    as_waiting,
    asked_of,
    pools_to_lock,
    with_closed,
)
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import LeaseholdError
from leasehold.model.event_log import LeaseNews
from leasehold.model.reminder import armed
from leasehold.model.states import EventType
from leasehold.model.terms.waiting import window_at
from leasehold.model.tries import called_off, drawing, granted, moved_to, refused, timed_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.db.task import Claim
    from leasehold.leasing.approval import Approval
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.decision import Write
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression
    from leasehold.model.terms.waiting import Waiting, WaitingLease
    from leasehold.model.windows import Window


class _NotGrantedError(CertainError):
    """The try is over without a grant; `reason` is a sentence. `first` is the lease that has to go first, if any."""

    def __init__(self, reason: str, first: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.first = first


def try_waiting(service: Service, seen: Lease, claim: Claim) -> bool:
    """Try to grant a waiting lease, whose task is claimed, and set when it is due next; False if the claim is lost.

    A limit that is exceeded and the denial of the external service count as refused tries, with their sentence.
    """
    window, pools = window_at(seen.window, service.now()), _waiting_of(seen).pools
    try:
        asked = asked_of(service, seen)
        tried = partial(_shared, service, _Try(seen, claim, asked, window), seen, pools, conditions_asked(asked))
        return approved(service, ExternalCall.CREATE, seen.project_id, tried) is not None
    except (_NotGrantedError, LeaseholdError) as error:
        case = _InVain(seen, claim, error)
        return _shared(service, case, seen, pools if is_held(seen) else frozenset(), (), UNASKED) is not None


def _shared(
    service: Service,
    case: Joining,
    seen: Lease,
    pools: frozenset[str],
    conditions: Sequence[tuple[str, Expression]],
    approval: Approval,
) -> Lease | None:
    """Decide with what else is decided about these pools, or about none; None: the claim is lost."""
    joins = Joins(seen.project_id, pools, seen)
    order = Order(conditions, joins=joins)
    return decide_together(service, case, order, joins, approval, partial(run, service, case, order, approval))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The lease as it would be, as one of those that wait, and the pools of all that come before it."""

    lease: Lease
    waits: WaitingLease
    pools: set[str]


@dataclass(frozen=True, slots=True)
class _Try(Joining):
    """The use case that grants it; `window` is what the lease would get. None: the claim is lost."""

    seen: Lease
    claim: Claim
    asked: Sequence[Asked]
    window: Window

    def __call__(self, unit: Unit) -> Decision | None:
        wanted = self.wanted(unit)
        return self.decided(unit, unit.lock(wanted.pools), wanted)

    def wanted(self, unit: Unit) -> _Wanted:
        """Return what it would be; raises _NotGrantedError after its deadline, and the errors of enforcement."""
        waiting = _waiting_of(self.seen)
        if waiting.expired(unit.now):
            raise _NotGrantedError(self.seen.status_reason or "")
        moved = moved_to(self.seen, self.window)
        unit.service.enforcement.check_create(moved, unit.deciding)
        mine = as_waiting(moved, waiting)
        return _Wanted(moved, mine, pools_to_lock(unit.service, unit.connection, mine))

    def decided(self, unit: Unit, locks: Locks, wanted: _Wanted) -> Decision | None:
        """Return that it is granted; None as well if those before it wait for more than these pools."""
        service, moved, mine = unit.service, wanted.lease, wanted.waits
        lease = unit.as_seen(self.seen)
        if not still_ours(unit.connection, self.claim) or not locks.pools.keys() >= wanted.pools:
            return None
        if lease is None:
            return _overtaken(self.seen, self.claim, locks)
        with unit.snapshots(locks) as pools:
            snapshots = seen_by_users(service.types, pools, lease)
            own = {name: each.among(each.eligible.seen_by(mine.id)) for name, each in snapshots.items()}
            asked = with_closed(unit.connection, lease, self.asked)
            terms = unit.terms(lease, self.window, locks, use_disabled=mine.waiting.use_disabled)
            decided = _decided(own, asked, terms, Rebinding(service, locks))
            got = with_defaults(moved, [part.kind.pool for part in self.asked], decided.picks, own)
            first = WaitingList(service, locks, snapshots, service.budget(), unit.settled).first_ahead(mine)
        if first is not None:
            raise _NotGrantedError(BEHIND, first)
        unit.approval.require(
            (self.window, decided.key),
            lambda: ExternalView(service, unit.connection).creation(_draft_of(service, moved), moved, decided.picks),
        )
        return self._granted(unit, locks, lease, got, decided, terms)

    def _granted(self, unit: Unit, locks: Locks, lease: Lease, got: Lease, decided: RoomMade, terms: Terms) -> Decision:
        """Return that the lease gets this; the pools that were locked only for those that come first stay."""
        waiting, service = _waiting_of(lease), unit.service
        own = LockedPools({name: locks.pools.states[name] for name in waiting.pools})
        writes: list[Write] = []
        if is_held(lease):
            keep = {pick.resource_number for picks in decided.picks for pick in picks}
            writes.append(partial(let_go, service, lease, keep))
        return Decision(
            locks=replace(locks, pools=own),
            lease=armed(granted(got, waiting), locks.now, service.settings.manager.warn_before_end),
            before=lease,
            promised=Promised(self.asked, decided, terms.reserved),
            writes=writes,
            news=[LeaseNews.GRANTED],
            claim=self.claim,
            due=locks.now,
            frees=is_held(lease),
        )


def _decided(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, rebinding: Rebinding) -> RoomMade:
    try:
        return RoomMade(decide(snapshots, asked, terms))
    except RefusedError as error:
        refused = error
    kind = asked[refused.position].kind
    room = rebinding.room(snapshots, asked, terms, kind.pool)
    if room is None:
        raise _NotGrantedError(kind.not_enough(refused.refusal).message)
    return room


def _overtaken(seen: Lease, claim: Claim, locks: Locks) -> Decision:
    """Return that a lease is another one than was seen: it is looked at again at once."""
    return Decision(locks=locks, lease=seen, before=seen, claim=claim, due=locks.now)


@dataclass(frozen=True, slots=True)
class _InVain(Joining):
    """The use case of a refused try: when the next one is due, or that it was the last. None: the claim is lost."""

    seen: Lease
    claim: Claim
    error: _NotGrantedError | LeaseholdError

    def __call__(self, unit: Unit) -> Decision | None:
        return self.decided(unit, unit.lock(_waiting_of(self.seen).pools if is_held(self.seen) else ()), None)

    def wanted(self, unit: Unit) -> None:
        """Ask for nothing."""

    def decided(self, unit: Unit, locks: Locks, wanted: None) -> Decision | None:  # noqa: ARG002 - nothing is
        """Return what is written about it."""
        connection, now, lease = unit.connection, locks.now, unit.as_seen(self.seen)
        if not still_ours(connection, self.claim):
            return None
        if lease is None:
            return _overtaken(self.seen, self.claim, locks)
        first = self.error.first if isinstance(self.error, _NotGrantedError) else None
        if first is not None:
            again = _overtaken(lease, self.claim, locks)
            return replace(again, due=now + AFTER_YOU, error=str(self.error), tries=[first])
        if is_held(lease):
            after = _best_effort(connection, self.claim, lease, self.error, now)
        else:
            after = _refused(lease, self.error, now)
        if not after.waits:
            return self._over(unit, locks, lease, after)
        waiting = _waiting_of(after)
        # Something may have become free since it was tried, or will be when it is clean.
        clean = next_clean(connection, waiting, unit.service.margins, now)
        due = min(waiting.due, due_anew(connection, self.claim) or waiting.due, clean or waiting.due)
        return Decision(locks=locks, lease=after, before=lease, claim=self.claim, due=due, error=after.status_reason)

    def _over(self, unit: Unit, locks: Locks, lease: Lease, after: Lease) -> Decision:
        """Return that the lease waits no more, and that what was held for it is let go."""
        held = is_held(lease)
        writes = [partial(let_go, unit.service, lease, ())] if held else []
        news = [LeaseNews.TIMED_OUT]
        return Decision(locks=locks, lease=after, before=lease, writes=writes, news=news, claim=self.claim, frees=held)


def _refused(lease: Lease, error: _NotGrantedError | LeaseholdError, now: datetime) -> Lease:
    waiting = _waiting_of(lease)
    if waiting.expired(now):
        return timed_out(lease)
    if isinstance(error, _NotGrantedError):
        return refused(lease, waiting, now, error.reason)
    return refused(lease, waiting, now, error.message, passed_over=True)


def _best_effort(
    connection: Connection, claim: Claim, lease: Lease, error: _NotGrantedError | LeaseholdError, now: datetime
) -> Lease:
    """Return a best-effort lease after a try: it waits for its draws, or it is over because they were in vain.

    A draw that has ended since the try has made the task due anew, and the next try decides.
    """
    waiting, draws = _waiting_of(lease), draws_of(connection, lease)
    if waiting.expired(now):
        return called_off(lease, "The hosts that were drawn for it were not empty before its deadline.")
    if draws is Draws.FAILED:
        return called_off(lease, "A shared host could not be drawn for it.")
    if draws is Draws.UNDER_WAY or due_anew(connection, claim) is not None:
        return refused(lease, waiting, now, drawing(len(waiting.draws)))
    if isinstance(error, LeaseholdError) and error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # The external service may answer, or the decision be quicker, the next time.
        return refused(lease, waiting, now, error.message, passed_over=True)
    return called_off(lease, error.reason if isinstance(error, _NotGrantedError) else error.message)


def _waiting_of(lease: Lease) -> Waiting:
    """Return what a lease waits for; a lease that waits without it is a defect."""
    if lease.waiting is None:
        message = f"Lease {lease.id} is {lease.status} and does not say what it waits for."
        raise RuntimeError(message)
    return lease.waiting


def _draft_of(service: Service, lease: Lease) -> LeaseDraft:
    """Return the request for a lease as far as the external service is told of it."""
    ours = set(EventType)
    return LeaseDraft(
        lease.name,
        lease.window.start,
        lease.window.end,
        reservations=tuple(
            {**service.types.view(part), "resource_type": part.resource_type} for part in lease.reservations
        ),
        events=tuple((event.type, event.time) for event in lease.events if event.type not in ours),
        type=lease.type,
    )
