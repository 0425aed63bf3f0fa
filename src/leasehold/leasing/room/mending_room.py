"""Healing with late binding: leases that have not started make room for what a reservation misses (feature A9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.leasing.deciding.mending import lacking, mend, view_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.mending import HealTerms, Mending
    from leasehold.leasing.deciding.rebinding_search import Move
    from leasehold.leasing.room.rebinding import Rebinding
    from leasehold.model.budget import Budget
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation


@dataclass(frozen=True, slots=True)
class MadeRoom:
    """What changes for one reservation after these moves, and the snapshot of its pool with them."""

    mending: Mending
    view: Snapshot
    moves: Sequence[Move]


def made_room(
    rebinding: Rebinding,
    lease: Lease,
    part: Reservation,
    mending: Mending,
    present: Mapping[str, Snapshot],
    terms: HealTerms,
    budget: Budget | None = None,
) -> MadeRoom | None:
    """Return how a reservation gets all that it misses after this mending; None if nobody can make room for it.

    `present` are the snapshots that the mending was decided on. `budget` bounds the search in addition. Raises
    PluginBugError.
    """
    service = rebinding.service
    kind = service.types.get(part.resource_type).kind
    asked = lacking(lease, part, kind, mending)
    if asked is None or terms.only_back or not terms.policy.replaces(started=mending.started):
        return None
    pool = present[kind.pool]
    views = {**present, kind.pool: view_of(part, pool, part.ending.held(terms.window))}
    asks = service.terms(terms.window, lease.window.duration)
    room = rebinding.room(views, [asked], asks if budget is None else replace(asks, budget=budget), kind.pool)
    if room is None:
        return None
    pool = pool.without([move.of.id for move in room.moves])
    for move in room.moves:
        pool = pool.booked(move.picks, move.of.window)
    again = mend(lease, part, kind, pool, terms)
    return None if again.flags.missing else MadeRoom(again, pool, room.moves)
