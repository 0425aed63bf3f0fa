"""Move flexible leases: to a better place by their strategies, and by a decision that needs their room.

A move is the amendment of dates that the owner could ask for, decided under the locks of the pools and told by an event
(decision 0144).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease
from leasehold.features.flexible.model import Flexible, State
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.features.flexible.place import Place, Places, asked_again
from leasehold.features.flexible.store import may_become, movable, save_flexible
from leasehold.leasing.deciding.allocations import held_by, pools_of
from leasehold.leasing.deciding.decide import RefusedError, Terms, promised_window, seen_by_users
from leasehold.leasing.deciding.free_windows import Windows
from leasehold.leasing.locks import ChangedMeanwhileError
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.reschedule import reschedule
from leasehold.leasing.unit import Order, run
from leasehold.model.errors import LeaseholdError
from leasehold.model.event_log import LeaseNews
from leasehold.model.terms.lead import Lead

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta
    from threading import Event

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window

log = logging.getLogger(__name__)


def terms_at(service: Service, window: Window, lead: timedelta, now: datetime) -> Terms:
    """Return the terms of a decision about a lease with this lead, in this window."""
    return service.terms(promised_window(window.start, window.end, now), window.duration, lead=Lead(lead, now))


def places_of(
    service: Service, each: Flexible, lease: Lease, snapshots: Mapping[str, Snapshot], terms: Terms, now: datetime
) -> Places:
    """Return where a flexible lease may be moved now, in pools as they are without it."""
    parts = [part.id for part in lease.reservations]
    mine = seen_by_users(service.types, {pool: view.without(parts) for pool, view in snapshots.items()}, lease)
    return Places(Windows(mine, asked_again(service, lease), terms), each.stretches(now))


def moved(
    service: Service,
    locks: Locks,
    views: Mapping[str, Snapshot],
    each: Flexible,
    lease: Lease,
    window: Window,
    with_it: Mapping[str, Window] | None = None,
) -> Decision | None:
    """Return the decision that moves a flexible lease, as `reschedule` does; its owner is told where it was before.

    Other leases move `with_it`. Raises ChangedMeanwhileError as well for other terms than were read, and for a window
    in which another lease of its request is.
    """
    decision = reschedule(service, locks, views, lease, window)
    if decision is None:
        return None
    # The lease is locked by now, and its owner may have changed where it may be since that was read.
    if not may_become(locks.connection, each, window, with_it):
        raise ChangedMeanwhileError
    after = replace(each, start_at=window.start, moves=each.moves + 1, moved_at=locks.now)
    before = {"start_date": lease.window.start.isoformat(), "end_date": lease.window.end.isoformat()}
    return replace(
        decision,
        writes=(*decision.writes, partial(_note, after)),
        news=(*decision.news, (LeaseNews.RESCHEDULED, {"before": before})),
    )


def _note(after: Flexible, locks: Locks) -> None:
    save_flexible(locks.connection, after)


def move_all(service: Service, stopping: Event | None = None) -> int:
    """Move each flexible lease to which a better place has become free, and return how many were moved."""
    with service.db.reading() as connection:
        found = movable(connection, service.settings.of(FlexibleSettings), service.now())
    count = 0
    for each in found:
        if stopping is not None and stopping.is_set():
            break
        with suppress(ChangedMeanwhileError, LeaseholdError, RefusedError):
            # What has changed meanwhile, or cannot be decided in time, is looked at again in the next round.
            count += _improve(service, each)
    if count:
        service.wake()
    return count


def _improve(service: Service, each: Flexible) -> bool:
    """Move one flexible lease, if that is worth it; say whether it was moved."""
    with service.db.reading() as connection:
        lease = find_lease(connection, each.id)
    if lease is None or each.state(lease, service.now()) is not State.FLEXIBLE:
        return False
    pools = pools_of(lease, service.types)
    service.enforcement.look_outside(lease.project_id)
    order = Order(conditions_asked(asked_again(service, lease)))
    better = service.look(
        pools, lambda snapshots, now: _better(service, each, lease, snapshots, now), order.conditions, asks=True
    )
    if better is None or run(service, _Move(each, lease, better.window, frozenset(pools)), order) is None:
        return False
    log.info("Flexible lease %s moves from %s to %s.", each.id, each.start_at, better.window.start)
    return True


def _better(
    service: Service, each: Flexible, lease: Lease, snapshots: Mapping[str, Snapshot], now: datetime
) -> Place | None:
    """Return the best place of a lease, if that gains enough."""
    strategy, gain = each.terms.strategy, service.settings.of(FlexibleSettings).least_gain
    places = places_of(service, each, lease, snapshots, terms_at(service, lease.window, lease.lead, now), now)
    best = places.best(strategy, now)
    picks = [[held.pick for held in held_by(part, lease)] for part in lease.kept]
    present = places.cost(strategy, lease.window, picks, now)
    return best if best is not None and present - best.cost >= gain.total_seconds() else None


@dataclass(frozen=True, slots=True)
class _Move:
    """The use case: a flexible lease, as it was seen, gets this window if it still may and the window is still free."""

    each: Flexible
    seen: Lease
    window: Window
    pools: frozenset[str]

    def __call__(self, unit: Unit) -> Decision | None:
        locks, lease = unit.lock_as_seen(self.seen, self.pools)
        if not self.each.may_move(lease, self.window, locks.now):
            raise ChangedMeanwhileError
        with unit.snapshots(locks) as views:
            decision = moved(unit.service, locks, views, self.each, lease, self.window)
        if decision is None:
            raise ChangedMeanwhileError
        return decision
