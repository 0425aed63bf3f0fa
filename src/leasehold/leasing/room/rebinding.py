"""Late binding: leases that have not started get other resources, so that a decision need not be refused (feature A9).

Only a refusal looks for moves, under the locks that the decision holds already. A move changes allocations and nothing
else: the lease keeps its generation, its flags and its dates, and no event tells of it (decision 0057).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leasehold.calendar.demands import EXCLUSIVE
from leasehold.calendar.snapshot import instants
from leasehold.db.leases.lease import find_lease
from leasehold.db.leases.rebinding import unstarted_on
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.rebinding_search import Reassignable, make_room
from leasehold.model.errors import InvalidInputError, TakesTooLongError
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.terms.ending import held_longest
from leasehold.model.windows import Window
from leasehold.resource_types.kind import Explain, Search
from leasehold.resource_types.whole import WholeKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.arrays import Mask
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.db.leases.rebinding import Unstarted
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.rebinding_search import Move, RoomMade
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

log = logging.getLogger(__name__)

MOST_RESOURCES = 500
"""On how many resources moves are looked for, those with the fewest allocations first."""
MOST_MOVABLE = 300
"""How many reservations are read that may move."""


def in_time(service: Service, terms: Terms, look: Callable[[Terms], RoomMade | None]) -> RoomMade | None:
    """Return the room that is found within `[enforcement] max_rebinding_seconds`; None if none is, or that is 0."""
    seconds = service.settings.leases.rebinding_seconds
    if not seconds:
        return None
    with suppress(TakesTooLongError):
        return look(replace(terms, budget=terms.budget.part(seconds), explain=Explain.NOTHING))
    return None


@dataclass(frozen=True, slots=True)
class Rebinding:
    """The transaction of a decision, with its locks.

    The leases in `stay` do not move: the one that is decided about, if it exists already, and those of which the
    decision has moved some reservation before, because their allocations are not written yet.
    """

    service: Service
    locks: Locks
    stay: frozenset[str] = frozenset()

    def without(self, moves: Sequence[Move]) -> Rebinding:
        """Return the same for a further part of the decision, which leaves the leases that move already alone."""
        return replace(self, stay=self.stay | {move.of.lease_id for move in moves})

    def room(
        self, snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, pool: str
    ) -> RoomMade | None:
        """Return how a lease fits of which a reservation was refused in this pool; None: it stays refused.

        The leases that move are then locked, and none of them has started. Takes `[enforcement] max_rebinding_seconds`
        at most, and no statement if nothing may move. Never raises because of what it looks for.
        """
        return in_time(self.service, terms, lambda limited: self._room(snapshots, asked, limited, pool))

    def _room(
        self, snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, pool: str
    ) -> RoomMade | None:
        looked = _where(snapshots[pool], [part for part in asked if part.kind.pool == pool], terms, self._soon)
        if looked is None:
            return None
        movable = self._movable(*looked, pool)
        room = make_room(snapshots, asked, terms, pool, movable)
        if room is None or not (begun := self._begun(room.moves)):
            return room
        # A worker has begun a start since: once more without these leases.
        left = [each for each in movable if each.lease_id not in begun]
        room = make_room(snapshots, asked, terms, pool, left)
        return None if room is None or self._begun(room.moves) else room

    @property
    def _soon(self) -> datetime:
        """The moment up to which what begins stays where it is."""
        return self.locks.now + self.service.settings.leases.rebind_before_start

    def _movable(self, numbers: Collection[int], window: Window, pool: str) -> list[Reassignable]:
        found = unstarted_on(self.locks.connection, numbers, window, self._soon, MOST_MOVABLE)
        movable = (self._as_movable(each) for each in found if each.lease_id not in self.stay)
        return [each for each in movable if each is not None and each.kind.pool == pool]

    def _as_movable(self, each: Unstarted) -> Reassignable | None:
        """Return a reservation that may move; None if its plugin is missing, or its owner may know what it has."""
        found = self.service.types.find(each.resource_type)
        if found is None or not found.kind.healed or found.kind.public:
            return None
        try:
            request = found.kind.load(each.request)
        except Exception:
            log.exception("A bug in %s: reservation %s cannot be read, so it stays", each.resource_type, each.id)
            return None
        default = each.default if each.default is not None and each.default.applied else None
        return Reassignable(each.id, each.lease_id, found.kind, request, each.held, each.projects, default)

    def _begun(self, moves: Sequence[Move]) -> set[str]:
        """Lock the leases that move, in the order of their ids, and return those that may not move any more."""
        held = {move.of.id: {each.id for each in move.of.held} for move in moves}
        begun = set()
        for ident in sorted({move.of.lease_id for move in moves}):
            lease = find_lease(self.locks.connection, ident, lock=True)
            if lease is None or not self._rests(lease, held):
                begun.add(ident)
        return begun

    def _rests(self, lease: Lease, held: Mapping[str, Collection[int]]) -> bool:
        start = lease.event(EventType.START)
        parts = [part for part in lease.reservations if part.id in held]
        same = all({each.id for each in held_by(part, lease)} == held[part.id] for part in parts)
        untouched = lease.status is LeaseStatus.PENDING and start is not None and start.status is EventStatus.UNDONE
        return same and untouched and lease.begins > self._soon


def _where(snapshot: Snapshot, asked: Sequence[Asked], terms: Terms, soon: datetime) -> tuple[list[int], Window] | None:
    """Return on which resources, and in which time, something that begins after `soon` may be in the way.

    Only resources that match one of the reservations count. None: nothing is in the way there, or at some moment there
    are too few whole resources left, wherever the others are.
    """
    held = held_longest(terms.reserved, (part.ending for part in asked))
    margin = max(terms.margins.of(part.kind.pool) for part in asked)
    times = instants(held.widened(margin))
    able = np.zeros(len(snapshot.numbers), np.bool_)
    for part in asked:
        check = terms.budget.check
        search: Search[Any] = Search(snapshot, held, terms.length, before=part.request, check=check)
        with suppress(InvalidInputError):
            able |= part.kind.matching(part.request, search) & snapshot.eligible.bookable()
        able[snapshot.rows(pick.resource_number for pick in part.held)] = True
    wanted = [part.kind.least(part.request) for part in asked if isinstance(part.kind, WholeKind)]
    if sum(wanted) > _idle(snapshot, able, times):
        return None
    touching = snapshot.held(times, able)
    later = touching.starts > soon.timestamp()
    rows, counts = np.unique(touching.rows[later], return_counts=True)
    if not rows.size:
        return None
    chosen = rows[np.argsort(counts, kind="stable")][:MOST_RESOURCES]
    here = later & np.isin(touching.rows, chosen)
    window = Window.of_seconds(int(touching.starts[here].min()), int(touching.ends[here].max()))
    return snapshot.numbers[chosen].tolist(), window


def _idle(snapshot: Snapshot, also: Mask, times: tuple[int, int]) -> int:
    """Return how many resources no whole allocation has at the busiest moment: no moves make that more."""
    # Others may move to what is closed to this project.
    rows = snapshot.eligible.for_operators().bookable() | also
    held = snapshot.held(times, rows)
    whole = held.part(held.demands == EXCLUSIVE)
    starts, ends = np.sort(np.maximum(whole.starts, times[0])), np.sort(whole.ends)
    busy = np.arange(1, starts.size + 1) - np.searchsorted(ends, starts, side="right")
    return int(np.count_nonzero(rows) - busy.max(initial=0))
