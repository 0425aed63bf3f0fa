"""Try a lease again that waits for resources: the decision of a new lease, when its pause is over or something is free.

A try commits the grant, or nothing; what was refused, and why, is then written in a transaction of its own. So a try
holds no resources and leaves no trace in what a project uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.pool import LockedPools, bump_pools, lock_pools
from leasehold.db.task import due_anew, finish_task, still_ours
from leasehold.db.waiting import hurry_tries, hurry_waiting, next_clean
from leasehold.enforcement.external import ExternalCall
from leasehold.leasing.approval import Approval, approved
from leasehold.leasing.deciding.allocations import promise
from leasehold.leasing.deciding.decide import RefusedError, decide, promised_window, seen_by_users
from leasehold.leasing.deciding.default_properties import with_defaults
from leasehold.leasing.deciding.rebinding_search import RoomMade
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.room.rebinding import Rebinding
from leasehold.leasing.unit import bump_and_hurry
from leasehold.leasing.waiting.holds import Draws, draws_of, is_held, let_go
from leasehold.leasing.waiting.waiting_list import WaitingList, asked_of, pools_to_lock, with_closed
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import LeaseholdError
from leasehold.model.event_log import LeaseNews
from leasehold.model.reminder import armed
from leasehold.model.states import EventType
from leasehold.model.terms.lead import Lead
from leasehold.model.terms.waiting import WaitingLease, window_at
from leasehold.model.tries import called_off, drawing, granted, moved_to, refused, timed_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.db.task import Claim
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.terms.waiting import Waiting
    from leasehold.model.windows import Window

BEHIND = "Other leases that wait come first."
AFTER_YOU = timedelta(seconds=1)
"""When a lease is tried again that let another one go first."""


class _NotGrantedError(Exception):
    """The try is over without a grant; `reason` is a sentence. `first` is the lease that has to go first, if any."""

    def __init__(self, reason: str, first: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.first = first


def try_waiting(service: Service, claim: Claim, seen: Lease) -> bool:
    """Try to grant a waiting lease, whose task is claimed, and set when it is due next; False if the claim is lost.

    A limit that is exceeded and the denial of the external service count as refused tries, with their sentence.
    """
    window = window_at(seen.window, service.now())
    try:
        asked = asked_of(service, seen)
        conditions = conditions_asked(asked)

        def attempt(approval: Approval) -> bool:
            return service.decide(_Try(service, claim, seen, asked, window, approval), conditions)

        return approved(service, ExternalCall.CREATE, seen.project_id, attempt)
    except _NotGrantedError as error:
        return service.db.transact(partial(_write, service, claim, seen, error))
    except LeaseholdError as error:
        return service.db.transact(partial(_write, service, claim, seen, error))


@dataclass(frozen=True, slots=True)
class _Try:
    """The transaction that grants it, which may have to run more than once; `window` is what the lease would get."""

    service: Service
    claim: Claim
    seen: Lease
    asked: Sequence[Asked]
    window: Window
    approval: Approval

    def __call__(self, evaluated: Evaluated, connection: Connection) -> bool:
        now, waiting = self.service.now(), _waiting_of(self.seen)
        if waiting.expired(now):
            raise _NotGrantedError(self.seen.status_reason or "")
        moved = moved_to(self.seen, self.window)
        self.service.enforcement.check_create(moved, self.service.deciding(connection, now))
        mine = WaitingLease(moved.id, moved.project_id, moved.user_id, waiting)
        generations = lock_pools(connection, pools_to_lock(self.service, connection, mine))
        lease = find_lease(connection, self.seen.id, lock=True)
        if not still_ours(connection, self.claim):
            return False
        now = self.service.now()
        if lease is None or lease.generation != self.seen.generation:
            finish_task(connection, self.claim, now)
            return True
        ahead, lead = promised_window(self.window.start, self.window.end, now), Lead(lease.lead, now)
        rebinding = Rebinding(self.service, connection, generations, now)
        with self.service.calendars.synced(connection, generations, now, evaluated) as pools:
            snapshots = seen_by_users(self.service.types, pools, lease)
            own = {name: each.among(each.eligible.seen_by(mine.id)) for name, each in snapshots.items()}
            asked = with_closed(connection, lease, self.asked)
            decided = self._decided(own, asked, ahead, lead, rebinding)
            got = with_defaults(moved, [part.kind.pool for part in self.asked], decided.picks, own)
            budget = self.service.terms(ahead, self.window.duration).budget
            first = WaitingList(self.service, connection, snapshots, now, budget).first_ahead(mine)
        if first is not None:
            raise _NotGrantedError(BEHIND, first)
        self.approval.require(
            (self.window, decided.key),
            lambda: ExternalView(self.service, connection).creation(
                _draft_of(self.service, moved), moved, decided.picks
            ),
        )
        rungs = self.service.settings.manager.warn_before_end
        after = armed(granted(got, waiting), now, rungs)
        rebinding.write(decided.moves)
        promise(connection, after, self.asked, decided.picks, generations, lead.reserved(ahead))
        after = save_lease(connection, lease, after, now)
        finish_task(connection, self.claim, now)
        put_event(connection, LeaseNews.GRANTED, after, now)
        own_pools = LockedPools({name: generations.states[name] for name in waiting.pools})
        if is_held(lease):
            keep = {pick.resource_number for picks in decided.picks for pick in picks}
            let_go(self.service, connection, lease, generations, now, keep)
            hurry_waiting(connection, own_pools, now)
        bump_pools(connection, own_pools)
        return True

    def _decided(
        self,
        snapshots: Mapping[str, Snapshot],
        asked: Sequence[Asked],
        ahead: Window,
        lead: Lead,
        rebinding: Rebinding,
    ) -> RoomMade:
        use_disabled = _waiting_of(self.seen).use_disabled
        terms = self.service.terms(ahead, self.window.duration, use_disabled=use_disabled, lead=lead)
        try:
            return RoomMade(decide(snapshots, asked, terms))
        except RefusedError as error:
            refused = error
        kind = asked[refused.position].kind
        room = rebinding.room(snapshots, asked, terms, kind.pool)
        if room is None:
            raise _NotGrantedError(kind.not_enough(refused.refusal).message)
        return room


def _write(
    service: Service, claim: Claim, seen: Lease, error: _NotGrantedError | LeaseholdError, connection: Connection
) -> bool:
    """Write that a try was refused, and when the next one is due; or that it was the last one."""
    locked = lock_pools(connection, _waiting_of(seen).pools if is_held(seen) else ())
    lease = find_lease(connection, seen.id, lock=True)
    if not still_ours(connection, claim):
        return False
    now = service.now()
    if lease is None or lease.generation != seen.generation:
        finish_task(connection, claim, now)
        return True
    waiting = _waiting_of(lease)
    if isinstance(error, _NotGrantedError) and error.first is not None:
        finish_task(connection, claim, now + AFTER_YOU, error=error.reason)
        hurry_tries(connection, [error.first], now)
        return True
    after = _best_effort(connection, claim, lease, error, now) if is_held(lease) else _refused(lease, error, now)
    after = save_lease(connection, lease, after, now)
    if is_held(lease) and not after.waits:
        let_go(service, connection, lease, locked, now)
        bump_and_hurry(connection, locked, now)
    if after.waits:
        waiting = _waiting_of(after)
        # Something may have become free since it was tried, or will be when it is clean.
        clean = next_clean(connection, waiting, service.margins, now)
        due = min(waiting.due, due_anew(connection, claim) or waiting.due, clean or waiting.due)
        finish_task(connection, claim, due, error=after.status_reason)
    else:
        put_event(connection, LeaseNews.TIMED_OUT, after, now)
        finish_task(connection, claim, None)
    return True


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
