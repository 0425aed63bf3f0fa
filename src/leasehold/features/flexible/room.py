"""Flexible leases make room: a lease that would be refused is granted if they fit elsewhere in their windows.

It is one decision: the lease is granted and the others are moved in the same transaction, or nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.snapshot import instants
from leasehold.db.leases.lease import find_leases
from leasehold.features.flexible.moving import moved, places_of, terms_at
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.features.flexible.store import movable
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.deciding.decide import RefusedError, booked, decide
from leasehold.leasing.deciding.rebinding_search import RoomMade
from leasehold.leasing.locks import ChangedMeanwhileError
from leasehold.leasing.room.rebinding import in_time
from leasehold.model.actor import acting
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.terms.ending import held_longest
from leasehold.model.windows import Window, to_seconds
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.features.flexible.model import Flexible
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Pick
    from leasehold.model.lease import Lease

CANDIDATES: Final = 8
"""How many flexible leases are looked at for one request, those in its window first."""
MOST_MOVES: Final = 4
"""How many of them one request moves at most."""

Both = tuple["Flexible", "Lease"]


@dataclass(frozen=True, slots=True)
class FlexibleWay:
    """The way of flexible leases, under the locks of a decision; those in `stay` are not moved."""

    service: Service
    locks: Locks
    stay: frozenset[str]

    def room(
        self, snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, pool: str
    ) -> RoomMade | None:
        """Return how the lease fits if few of them move, each to the first place that is free then.

        Takes `[enforcement] max_rebinding_seconds` at most, as late binding does.
        """
        return in_time(self.service, terms, lambda limited: self._room(snapshots, asked, limited, pool))

    def _room(
        self, snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, pool: str
    ) -> RoomMade | None:
        window = held_longest(terms.reserved, (part.ending for part in asked))
        if not self._any_begins_later(snapshots[pool], window):
            return None
        both = self._movable(pool, window, snapshots.keys())
        if not both or _decided(_without(snapshots, both), asked, terms) is None:
            return None
        for many in range(1, min(len(both), MOST_MOVES) + 1):
            for chosen in combinations(both, many):
                gap = _without(snapshots, chosen)
                picks = _decided(gap, asked, terms)
                if picks is None:
                    continue
                also = self._elsewhere(booked(gap, asked, picks, terms), chosen, terms)
                if also is not None:
                    return RoomMade(picks, writes=tuple(partial(_write, each) for each in also))
        return None

    def _any_begins_later(self, snapshot: Snapshot, window: Window) -> bool:
        """Say whether anything in a window has not begun, so that it may be one of them; this takes no statement."""
        held = snapshot.held(instants(window), np.ones(len(snapshot.numbers), np.bool_))
        return bool((held.starts > to_seconds(self.locks.now)).any())

    def _movable(self, pool: str, window: Window, locked: Collection[str]) -> list[Both]:
        """Return flexible leases that have something of a pool, and nothing of pools that are not locked."""
        settings, connection = self.service.settings.of(FlexibleSettings), self.locks.connection
        found = {
            each.id: each
            for each in movable(connection, settings, self.locks.now, most=CANDIDATES, within=(pool, window))
            if each.id not in self.stay
        }
        leases = {lease.id: lease for lease in find_leases(connection, found)} if found else {}
        both = [(each, leases[ident]) for ident, each in found.items() if ident in leases]
        return [(each, lease) for each, lease in both if pools_of(lease, self.service.types) <= set(locked)]

    def _elsewhere(self, views: Mapping[str, Snapshot], chosen: Sequence[Both], terms: Terms) -> list[Decision] | None:
        """Return how these leases move so that all of them fit in these pools, in the first order that works."""
        for order in permutations(chosen):
            windows = self._windows(views, order, terms)
            if windows is not None:
                return self._moved(views, order, windows)
        return None

    def _windows(self, views: Mapping[str, Snapshot], order: Sequence[Both], terms: Terms) -> dict[str, Window] | None:
        """Return a free window for each, one after the other; None if there is none for one of them."""
        now, present, windows = self.locks.now, dict(views), dict[str, Window]()
        leave = {each.id for each, _ in order}
        for each, lease in order:
            own = terms_at(self.service, lease.window, lease.lead, now)
            own = replace(own, budget=terms.budget, explain=Explain.NOTHING)
            # Another lease of its request that moves as well is where it will be.
            others = {
                ident: replace(other, window=windows.get(ident, other.window))
                for ident, other in each.others.items()
                if ident in windows or ident not in leave
            }
            places = places_of(self.service, replace(each, others=others), lease, present, own, now)
            window = places.first(but=lease.window)
            if window is None:
                return None
            own, asked = replace(own, window=window), places.windows.asked
            present = booked(present, asked, decide(places.windows.snapshots, asked, own), own)
            windows[each.id] = window
        return windows

    def _moved(
        self, views: Mapping[str, Snapshot], order: Sequence[Both], windows: Mapping[str, Window]
    ) -> list[Decision] | None:
        """Return the decisions about them; None if one may not be moved after all."""
        present, decisions = dict(views), []
        # Leases are locked in the order of their ids.
        for each, lease in sorted(order, key=lambda both: both[0].id):
            window = windows[each.id]
            try:
                decision = moved(self.service, self.locks, present, each, lease, window, windows)
            except TakesTooLongError:
                raise
            except (LeaseholdError, RefusedError, ChangedMeanwhileError):
                return None
            if decision is None or not each.may_move(lease, window, self.locks.now):
                return None
            for _, pool, held, picks in decision.taken:
                present[pool] = present[pool].booked(picks, held)
            decisions.append(decision)
        return decisions


def _write(decision: Decision, _locks: Locks) -> None:
    # Who asks for another lease does not ask for this change.
    with acting(None):
        decision.write_rows()


def _without(snapshots: Mapping[str, Snapshot], chosen: Sequence[Both]) -> dict[str, Snapshot]:
    parts = [part.id for _, lease in chosen for part in lease.reservations]
    return {pool: view.without(parts) for pool, view in snapshots.items()}


def _decided(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms) -> list[Sequence[Pick]] | None:
    terms.budget.check()
    try:
        return decide(snapshots, asked, terms)
    except TakesTooLongError:
        raise
    except (RefusedError, LeaseholdError):
        return None
