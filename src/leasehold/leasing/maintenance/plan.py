"""Decide what becomes of the leases on the hosts of a maintenance window: who moves, and who makes room for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.decide import promised_window
from leasehold.leasing.deciding.mending import HealTerms, PluginBugError, mend
from leasehold.leasing.maintenance.model import Concerned, LeaseFate
from leasehold.leasing.room.mending_room import MadeRoom, made_room
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.resource_types.maintenance.kind import MaintenanceKind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.mending import Mending
    from leasehold.leasing.deciding.rebinding_search import Move
    from leasehold.leasing.room.rebinding import Rebinding
    from leasehold.leasing.service import Service
    from leasehold.model.budget import Budget
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Moved:
    """A lease that gets other hosts: what changes for its reservations, by their ids, and which leases make room.

    `loses` says that there are fewer than it had.
    """

    lease: Lease
    mended: Mapping[str, Mending]
    room: Sequence[Move]

    @property
    def loses(self) -> bool:
        """Whether a reservation has less than before."""
        return any(_less(part, self.mended[part.id]) for part in self.lease.reservations if part.id in self.mended)


@dataclass(frozen=True, slots=True)
class _Sight:
    """The pool of hosts as the next reservation finds it, and who may still make room for it."""

    view: Snapshot
    rebinding: Rebinding
    room: Sequence[Move] = ()


@dataclass(frozen=True, slots=True)
class Planning:
    """A window on these resources from now on, `ahead`. `rebinding` leaves the leases on them alone: they move anyway.

    `budget` bounds the decision, and `looking` how long it looks for leases that make room. With `force` a lease loses
    what nothing takes the place of.
    """

    numbers: Collection[int]
    ahead: Window
    rebinding: Rebinding
    budget: Budget
    looking: Budget
    force: bool = False

    def plan(self, there: Sequence[Lease], view: Snapshot) -> tuple[list[Moved], list[Concerned]]:
        """Return how the leases move that are there, and what becomes of each; `view` has the window booked.

        Raises TakesTooLongError.
        """
        sight = _Sight(view, self.rebinding)
        moves: list[Moved] = []
        fates: list[Concerned] = []
        for lease in there:
            self.budget.check()
            # An offer keeps what it shows, and one that is accepted would begin on a host of the window.
            stays = lease.status is LeaseStatus.OFFERED
            if not stays and _has_started(lease):
                fates.append(Concerned(lease, LeaseFate.STARTED))
                continue
            found = None if stays else self._moved(lease, sight)
            if found is None:
                fates.append(Concerned(lease, LeaseFate.STUCK))
                continue
            mended, sight = found
            move = Moved(lease, mended, sight.room)
            fates.append(Concerned(lease, LeaseFate.LOSES if move.loses else LeaseFate.MOVES))
            moves.append(move)
            sight = replace(sight, room=())
        return moves, fates

    def _moved(self, lease: Lease, sight: _Sight) -> tuple[dict[str, Mending], _Sight] | None:
        """Return what changes for the reservations of a lease, None if one would have less than it has now."""
        window = promised_window(lease.begins, lease.window.end, self._now)
        terms = HealTerms(self.numbers, frozenset(), HealPolicy.REPLACE, window, self._service.margins)
        mended: dict[str, Mending] = {}
        sight = replace(
            sight, view=sight.view.for_project(*self._service.types.projects_of(lease, MaintenanceKind.pool))
        )
        for part in lease.reservations:
            if not any(held.resource_number in self.numbers for held in held_by(part, lease)):
                continue
            try:
                found = self._mended(lease, part, sight, terms)
            except PluginBugError:
                found = None
            if found is None:
                return None
            mended[part.id] = found.mending
            fresh = [pick for pick, _ in found.mending.fresh]
            view = found.view.booked(fresh, part.ending.held(window))
            sight = _Sight(view, sight.rebinding.without(found.moves), [*sight.room, *found.moves])
        return (mended, sight) if mended else None

    def _mended(self, lease: Lease, part: Reservation, sight: _Sight, terms: HealTerms) -> MadeRoom | None:
        """Return how a reservation gets other hosts, if need be by moves of others; None if it would have less."""
        type_ = self._service.types.find(part.resource_type)
        if type_ is None:
            return None
        mending = mend(lease, part, type_.kind, sight.view, terms)
        if not _less(part, mending):
            return MadeRoom(mending, sight.view, ())
        pools = {MaintenanceKind.pool: sight.view}
        made = made_room(sight.rebinding, lease, part, mending, pools, terms, self.looking)
        return MadeRoom(mending, sight.view, ()) if made is None and self.force else made

    @property
    def _service(self) -> Service:
        return self.rebinding.service

    @property
    def _now(self) -> datetime:
        return self.rebinding.locks.now


def _less(part: Reservation, mending: Mending) -> bool:
    return (mending.flags.missing or 0) > (part.missing or 0)


def _has_started(lease: Lease) -> bool:
    """Say whether the start of a lease has begun: then its hosts may be in use. A sub-lease has no others."""
    return lease.status is not LeaseStatus.PENDING or lease.reached(EventType.START) or lease.lent is not None
