"""Take back what was lent to a lease, after the notice that its holder was promised (decision 0147).

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
    from datetime import datetime

    from leasehold.db.allocation import Shift
    from leasehold.leasing.deciding.decision import News
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
    after = _warned_anew(lease, given)
    news: list[News] = []
    if lease.notice != after.notice:
        news.append(LeaseNews.TAKEN_BACK)
    if lease.reached(EventType.BEFORE_END) and not after.reached(EventType.BEFORE_END):
        news.append("lease.event.before_end_lease.stop")
    stay: list[Shift] = []
    for before, part in zip(lease.reservations, after.reservations, strict=True):
        if (pool := pool_of(before, service.types)) is not None:
            moves = Rewriting(lease, before, pool, after.window, locks.now, part.ending)
            stay += rewritten(moves, [held.pick for held in held_by(before, lease)]).stay
    after = rearmed(lease, after, locks.now, service.settings.manager.warn_before_end)
    return Decision(locks=locks, lease=after, before=lease, stay=stay, news=news, due=locks.now, frees=True)


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
    after = move(lease.ending_at(end), Trigger.TAKEN_BACK)
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
