"""Healing: other resources take over from failed ones, and what is missing is tried again (features J3, J4, J5).

No server is deleted because its host failed. A reservation that is active, or whose start was begun, vacates the host.
The host is allocated to no other lease until its servers are gone: the owner deletes them, or the lease ends.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from leasehold.db.allocation import leases_on
from leasehold.db.leases.closures import windows_on
from leasehold.db.leases.healing import lacking_leases, leases_that_lost, stuck_resources, types_of
from leasehold.db.leases.lease import find_lease
from leasehold.db.resources.resource import all_fits, changed_in_the_cloud, failed_resources
from leasehold.db.store import GenerationRaceError, UnknownOutcomeError
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.decide import promised_window
from leasehold.leasing.deciding.exchange import exchanged
from leasehold.leasing.deciding.mending import HealTerms, PluginBugError, mend
from leasehold.leasing.resources.survey import allocations_beyond
from leasehold.leasing.room.mending_room import made_room
from leasehold.leasing.room.rebinding import Rebinding
from leasehold.leasing.steps.lifecycle import ENDING, phase_of
from leasehold.leasing.unit import run
from leasehold.model.allocation import Pick
from leasehold.model.budget import nothing_to_check
from leasehold.model.event_log import LeaseNews
from leasehold.model.resource import MAINTENANCE
from leasehold.model.segment import Cause
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.ending import held_longest
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.deciding.mending import Mending
    from leasehold.leasing.deciding.rebinding_search import Move
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window

log = logging.getLogger(__name__)

HEALABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE, LeaseStatus.ERROR})
"""STARTING and ERROR are included because a start is retried while the window lasts (decision 0026).

A lease that is ending keeps its hosts."""
_BUG = "A bug in %s: reservation %s of lease %s could not be healed; the next health check tries again"


@dataclass(frozen=True, slots=True)
class Round:
    """What is known when healing begins.

    The failed resources; those `returning`, which are not reservable yet; those that have `changed` in the cloud; and
    those that are `stuck`: a lease that is over cannot leave them, so the next one does not wait for it.
    """

    failed: AbstractSet[int]
    returning: Collection[int]
    changed: AbstractSet[int] = frozenset()
    stuck: AbstractSet[int] = frozenset()


def stuck_now(service: Service, connection: Connection) -> AbstractSet[int]:
    """Return the resources that a lease which is over has not left within `[manager] stuck_seconds`."""
    now, settings = service.now(), service.settings.manager
    pause = timedelta(seconds=max(settings.retry_refused_seconds, settings.retry_most_seconds))
    return stuck_resources(connection, now - settings.stuck, now + pause)


def heal_leases(service: Service, returning: Collection[int] = ()) -> int:
    """Heal the leases within the healing interval that lose or miss something; return how many times one changed.

    What works again goes back first to the reservations that lost it and still miss something: also the resources in
    `returning`, which are not reservable yet. Then each lease gets other resources for what it lost or misses, as its
    heal policy allows, the one that begins first before the others. What cannot be replaced is given up, and the
    reservation is flagged `missing_resources` and tried again next time.

    Each lease is its own transaction, and a failure for one does not stop the others. A reservation whose plugin cannot
    be used or raises keeps its allocations until the plugin works again.
    """
    now = service.now()
    interval = service.settings.manager.healing_interval
    until = now + interval if interval else None
    with service.db.reading() as connection:
        failed, stuck = failed_resources(connection).keys() - set(returning), stuck_now(service, connection)
        losing = leases_on(connection, failed | stuck, now, until) if failed or stuck else {}
        changed = changed_in_the_cloud(connection)
        over = allocations_beyond(service.types, connection, changed, now)
        losing.update(_begins(over, until))
        lacking = lacking_leases(connection, now, until)
        again = leases_that_lost(connection, now, returning) & lacking.keys() if lacking else set()
        types = types_of(connection, {*losing, *lacking}) if losing or lacking else {}
    begins = {lease_id: min(found[lease_id] for found in (losing, lacking) if lease_id in found) for lease_id in types}
    affected = sorted(begins, key=lambda lease_id: (begins[lease_id], lease_id))
    here = Round(failed, frozenset(returning), changed.keys(), stuck)
    rounds = [(lease_id, True) for lease_id in affected if lease_id in again]
    rounds += [(lease_id, False) for lease_id in affected]
    healed = sum(
        _heal_lease(service, Healing(lease_id, types[lease_id], here, only_back)) for lease_id, only_back in rounds
    )
    if healed:
        service.wake()
    if changed:
        _note_what_fits(service, changed)
    return healed


def _begins(over: Iterable[Allocation], until: datetime | None) -> dict[str, int]:
    """Return the leases with these allocations that begin before `until`, with the first start in seconds."""
    found: dict[str, int] = {}
    for each in over:
        if until is None or each.window.start < until:
            start = to_seconds(each.window.start)
            found[each.lease_id] = min(start, found.get(each.lease_id, start))
    return found


def _note_what_fits(service: Service, changed: Mapping[int, datetime]) -> None:
    """Compare no longer the resources on which everything fits; the others are compared again next time."""

    def work(connection: Connection) -> None:
        left = allocations_beyond(service.types, connection, changed, service.now())
        for number in changed.keys() - {each.resource_number for each in left}:
            all_fits(connection, number, changed[number])

    service.db.transact(work)


def _heal_lease(service: Service, work: Healing) -> bool:
    """Heal one lease and return whether it changed; database errors are raised, because they concern all leases."""
    try:
        return run(service, work) is not None
    except (SQLAlchemyError, UnknownOutcomeError, GenerationRaceError):
        raise
    except Exception:
        log.exception("Lease %s could not be healed; the next health check tries again", work.lease_id)
        return False


@dataclass(frozen=True, slots=True)
class Healing:
    """The use case for one lease; None if nothing changes.

    With `only_back` the lease gets nothing but what it lost itself. `policy` None means that of the lease. `check` is
    as in `HealTerms`.
    """

    lease_id: str
    types: Collection[str]
    round: Round
    only_back: bool = False
    policy: HealPolicy | None = None
    check: Callable[[], None] = nothing_to_check

    def __call__(self, unit: Unit) -> Decision | None:
        locks = self.lock(unit)
        lease = find_lease(unit.connection, self.lease_id, lock=True)
        if lease is None or not healable(lease, locks.now):
            return None
        decision = self.decision(unit, locks, lease, self.decided(unit, locks, lease))
        if not decision.writes and decision.lease == lease:
            return None
        asks = self._policy_of(unit.service, lease) is HealPolicy.ASK
        if asks and _misses(decision.lease) and not _misses(lease):
            answer = {"answer": f"POST /v1/leases/{lease.id}/heal"}
            decision = replace(decision, news=[*decision.news, (LeaseNews.HEAL_QUESTION, answer)])
        return decision

    def lock(self, unit: Unit) -> Locks:
        """Lock the pools of the lease's reservations."""
        found = map(unit.service.types.find, self.types)
        return unit.lock({each.kind.pool for each in found if each is not None})

    def decided(self, unit: Unit, locks: Locks, lease: Lease) -> Healed:
        """Return what changes for a lease that is locked after its pools."""
        service, connection = unit.service, unit.connection
        over = allocations_beyond(service.types, connection, _resources_of(lease) & self.round.changed, locks.now)
        with unit.snapshots(locks) as snapshots:
            seen = service.source_of(lease).seen_by(service.grounds(locks, snapshots), lease)
            views = _beside_windows(service, connection, lease, seen)
            rebinding = Rebinding(service, locks, stay=frozenset({lease.id}))
            return self._mended(lease, views, rebinding, {each.id for each in over})

    def decision(self, unit: Unit, locks: Locks, lease: Lease, healed: Healed) -> Decision:
        """Return what is written of that."""
        types = unit.service.types
        pools = {
            part.id: types.get(part.resource_type).kind.pool for part in lease.reservations if part.id in healed.mended
        }
        return exchanged(locks, lease, healed.mended, pools, healed.moves, (Cause.HEALED, LeaseNews.HEALED))

    def _policy_of(self, service: Service, lease: Lease) -> HealPolicy:
        return self.policy or lease.heal_policy or service.settings.leases.heal_policy

    def _mended(
        self, lease: Lease, snapshots: Mapping[str, Snapshot], rebinding: Rebinding, over: Collection[int]
    ) -> Healed:
        """Return what changes; no reservation gets what an earlier one of the lease has got.

        `over` is what no longer fits on its resource. The moment is the snapshots': at a later time, hosts that wait
        for their release would look free.
        """
        window = promised_window(lease.begins, lease.window.end, rebinding.locks.now)
        service, here = rebinding.service, self.round
        policy = self._policy_of(service, lease)
        broken = here.failed | (frozenset() if lease.status is LeaseStatus.ACTIVE else here.stuck)
        terms = HealTerms(broken, here.returning, policy, window, service.margins, self.only_back, over, self.check)
        present = _without_stuck(lease, snapshots, here.stuck, window)
        mended: dict[str, Mending] = {}
        moves: list[Move] = []
        for part in lease.kept:
            found = service.types.find(part.resource_type)
            if found is None or not found.kind.healed:
                continue
            pool = found.kind.pool
            try:
                mended[part.id] = mend(lease, part, found.kind, present[pool], terms)
                made = made_room(rebinding, lease, part, mended[part.id], present, terms)
                if made is not None:
                    mended[part.id], present[pool] = made.mending, made.view
                    moves += made.moves
                    rebinding = rebinding.without(made.moves)
            except PluginBugError:
                log.exception(_BUG, part.resource_type, part.id, lease.id)
                continue
            fresh = [pick for pick, _ in mended[part.id].fresh]
            present[pool] = present[pool].booked(fresh, part.ending.held(window))
        return Healed(mended, moves)


@dataclass(frozen=True, slots=True)
class Healed:
    """What changes for the reservations of a lease, by their ids, and which other leases make room for it."""

    mended: Mapping[str, Mending]
    moves: Sequence[Move]


def healable(lease: Lease, now: datetime) -> bool:
    """Say whether a lease may be healed: it is not over, and does not end."""
    return lease.status in HEALABLE and phase_of(lease, now) not in ENDING


def _without_stuck(
    lease: Lease, snapshots: Mapping[str, Snapshot], stuck: AbstractSet[int], window: Window
) -> dict[str, Snapshot]:
    """Return the snapshots in which no stuck resource is free, for what a lease lasts and holds after its end."""
    held = held_longest(window, (part.ending for part in lease.reservations))
    found = {}
    for pool, view in snapshots.items():
        mine = stuck & set(view.numbers.tolist()) if stuck else stuck
        found[pool] = view.booked([Pick(number) for number in sorted(mine)], held)
    return found


def _misses(lease: Lease) -> bool:
    return any(part.missing_resources for part in lease.reservations)


def _resources_of(lease: Lease) -> set[int]:
    """Return the numbers of the resources that a lease holds to its end."""
    return {held.resource_number for part in lease.reservations for held in held_by(part, lease)}


def _beside_windows(
    service: Service, connection: Connection, lease: Lease, snapshots: Mapping[str, Snapshot]
) -> Mapping[str, Snapshot]:
    """Return the snapshots without the maintenance windows on what a lease has had since before they were made.

    A lease that had started was only warned (decision 0044), so it keeps its host, also if it loses another one.
    """
    closing = service.types.find(MAINTENANCE)
    if lease.status is LeaseStatus.PENDING or closing is None or closing.kind.pool not in snapshots:
        return snapshots
    has, pool = _resources_of(lease), closing.kind.pool
    windows = windows_on(connection, has) if has else []
    view = snapshots[pool].without({held.reservation_id for held in windows})
    for held in windows:
        if held.resource_number not in has:
            view = view.booked([held.pick], held.window)
    return {**snapshots, pool: view}
