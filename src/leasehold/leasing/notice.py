"""End a lease sooner than its holder asked for, as when what is lent is taken back after a notice (decision 0147).

One rule for all that a lender may do: take back a sub-lease, delete an offer or the lease that lends, end a lease of
its own resource. What the holder or an operator deletes goes at once (`leasing/delete.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.leasing.dates import new_warning
from leasehold.leasing.deciding.allocations import Rewriting, held_by, pool_of, rewritten
from leasehold.leasing.deciding.decision import Decision
from leasehold.model.draft import LeaseChanges
from leasehold.model.event_log import LeaseNews
from leasehold.model.reminder import rearmed
from leasehold.model.states import EventType
from leasehold.model.transitions import Trigger, can, move
from leasehold.model.windows import rounded_up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.db.allocation import Shift
    from leasehold.leasing.deciding.decision import News, Taken
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease


def with_notice(service: Service, lease: Lease, locks: Locks, *, lender_goes: bool = False) -> Decision | None:
    """Return that a lease, which is locked after its pools, ends when the notice is over that its holder was promised.

    None: it goes at once. With `lender_goes` nobody gets back what a sub-lease has, which is then free at its end.
    """
    given = _given(lease, locks.now)
    if given is None:
        return None
    if lender_goes:
        given = _without_lender(given)
    return sooner(service, lease, given, locks, [LeaseNews.TAKEN_BACK] if lease.notice != given.notice else [])


def ended_at(lease: Lease, end: datetime) -> Lease:
    """Return a lease with an earlier end, or with that at its start; raises ForbiddenTransitionError if it is over."""
    return move(lease.ending_at(end), Trigger.TAKEN_BACK)


def sooner(service: Service, lease: Lease, given: Lease, locks: Locks, told: Sequence[News]) -> Decision:
    """Return that a lease, which is locked after its pools, has the end that is `given`, and what it has until then.

    The warning before the end comes as long before that as it did before, or now.
    """
    after = _warned_anew(lease, given)
    news = list(told)
    if lease.reached(EventType.BEFORE_END) and not after.reached(EventType.BEFORE_END):
        news.append("lease.event.before_end_lease.stop")
    stay: list[Shift] = []
    keeps: list[Taken] = []
    for before, part in zip(lease.reservations, after.reservations, strict=True):
        if (pool := pool_of(before, service.types)) is not None:
            picks = [held.pick for held in held_by(before, lease)]
            moves = Rewriting(lease, before, pool, after.window, locks.now, part.ending)
            stay += rewritten(moves, picks).stay
            keeps.append((part.id, pool, moves.ahead, picks))
    after = rearmed(lease, after, locks.now, service.settings.manager.warn_before_end)
    return Decision(
        locks=locks, lease=after, before=lease, stay=stay, keeps=keeps, news=news, due=locks.now, frees=True
    )


def _given(lease: Lease, now: datetime) -> Lease | None:
    """Return the lease with its notice running, and the end that it has then, which is never later than before.

    None if no notice was promised, if the lease ends already, or if the notice is over before it would start.
    """
    notice = lease.notice
    if notice is None or lease.reached(EventType.END) or not can(lease.status, Trigger.TAKEN_BACK):
        return None
    end = min(lease.window.end, rounded_up(now) + notice.length)
    if end <= lease.window.start:
        return None
    after = ended_at(lease, end)
    for part in lease.reservations:
        after = after.with_reservations({part.id}, ending=replace(part.ending, notice=notice.given(now)))
    return after


def _without_lender(lease: Lease) -> Lease:
    """Return a sub-lease that holds its resources to its own end, as nobody has them again after it."""
    for part in lease.reservations:
        if part.ending.lent is not None:
            lent = replace(part.ending.lent, until=lease.window.end)
            lease = lease.with_reservations({part.id}, ending=replace(part.ending, lent=lent))
    return lease


def _warned_anew(before: Lease, after: Lease) -> Lease:
    """Return the lease with its warning as long before its end as it was, or now if that is over: as if amended."""
    if after.window == before.window:
        return after
    after = after.with_times({EventType.BEFORE_END: new_warning(before, LeaseChanges(), after.window)})
    moved = after.event(EventType.BEFORE_END) != before.event(EventType.BEFORE_END)
    return move(after, Trigger.WARNING_MOVED) if moved and can(after.status, Trigger.WARNING_MOVED) else after
