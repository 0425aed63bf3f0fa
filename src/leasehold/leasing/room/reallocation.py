"""Decide what the reservations of an amended lease get in its new window, under the locks of the pools."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.leases.closures import windows_on
from leasehold.db.resources.resource import failed_resources
from leasehold.leasing.deciding.allocations import (
    Rewriting,
    check_left,
    held_by,
    leaving,
    left_by,
    lost_by,
    pool_of,
    rewritten,
)
from leasehold.leasing.deciding.decide import Asked, seen_by_users
from leasehold.leasing.deciding.default_properties import judged
from leasehold.leasing.deciding.flags import Flags, changed
from leasehold.leasing.deciding.promised import write_moves
from leasehold.leasing.deciding.rebinding_search import RoomMade
from leasehold.leasing.fit import Estimating
from leasehold.leasing.room.counter_offer import Proposal
from leasehold.leasing.room.ways import ways_of
from leasehold.model.allocation import Pick, slots_of
from leasehold.model.errors import LeaseholdError
from leasehold.model.states import EventType, ReservationStatus
from leasehold.model.terms.ending import held_longest
from leasehold.model.windows import to_minute

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.db.allocation import Shift
    from leasehold.leasing.amended import Amendment
    from leasehold.leasing.deciding.decision import Taken, Write
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.unit import Unit
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.terms.default_properties import DefaultProperties
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Reallocated:
    """What the reservations of a lease get, by their ids, who moves for them, and how it is written.

    Of what they have, some allocations `stay` with other windows. `keeps` says what they get by pool and window.
    `flags` are those of the reservations afterwards, by id. `moves_others` says that other leases change.
    """

    picks: Mapping[str, Sequence[Pick]]
    moved: object
    stay: Sequence[Shift]
    writes: Sequence[Write]
    keeps: Sequence[Taken]
    flags: Mapping[str, Flags]
    moves_others: bool = False


@dataclass(frozen=True, slots=True)
class Reallocation:
    """The lease as read under its lock (taken after the pools' locks), and its new `window`."""

    unit: Unit
    locks: Locks
    amendment: Amendment
    lease: Lease
    window: Window

    def decided(self) -> Reallocated:
        """Return what each reservation gets in the new window.

        An amendment that only shortens the window is never refused: a reservation that lost resources gets replacements
        if there are any; otherwise it keeps the rest.
        """
        lacks = any(part.missing_resources for part in self._parts)
        if not self._shrinks:
            return self._with(*self._decide(), whole=True)
        if lacks and self.window.end > self.locks.now:
            with suppress(LeaseholdError):
                return self._with(*self._decide(), whole=True)
        kept = RoomMade([[held.pick for held in self._held(part)] for part in self._parts])
        return self._with(kept, {}, whole=not lacks)

    @property
    def _shrinks(self) -> bool:
        """Whether nothing more is asked for, neither time nor resources."""
        before, after = self.lease.window, self.window
        return (
            before.start <= after.start
            and after.end <= before.end
            and not any(map(self.amendment.asks_more, self._parts))
        )

    def _with(self, room: RoomMade, defaults: Mapping[str, DefaultProperties | None], *, whole: bool) -> Reallocated:
        """Return how it is written that the reservations get this; all that they ask for, if the lease is `whole`."""
        gets = list(zip(self._parts, room.picks, strict=True))
        dropped = [part for part in self.lease.reservations if part.id in self.amendment.changes.drops]
        writes: list[Write] = [*([partial(write_moves, room.moves)] if room.moves else []), *room.writes]
        stay: list[Shift] = []
        keeps: list[Taken] = []
        for part, picks in (*gets, *((each, ()) for each in dropped)):
            rewriting = self._rewriting(part)
            if rewriting is not None:
                become = rewritten(rewriting, picks)
                stay += become.stay
                writes += become.writes
                keeps.append((part.id, rewriting.pool, rewriting.ahead, picks))
        lacks = any(part.missing_resources for part in self._parts)
        failed = failed_resources(self.locks.connection) if lacks else {}
        flags = {part.id: self._flags(part, picks, failed, whole=whole) for part, picks in gets}
        flags = {ident: replace(each, default=defaults.get(ident)) for ident, each in flags.items()}
        flags |= {part.id: Flags() for part in dropped}
        return Reallocated(
            {part.id: tuple(picks) for part, picks in gets}, room.moved, stay, writes, keeps, flags, room.moves_others
        )

    @property
    def _parts(self) -> list[Reservation]:
        """The reservations that the lease keeps."""
        return [part for part in self.lease.kept if part.id not in self.amendment.changes.drops]

    def _held(self, part: Reservation) -> list[Allocation]:
        """Return what a reservation has, without what it gives up unused."""
        return [held for held in held_by(part, self.lease) if held.id not in self._vacated(part)]

    def _vacated(self, part: Reservation) -> frozenset[int]:
        return self.amendment.of(part).vacated

    def _rewriting(self, part: Reservation) -> Rewriting | None:
        """Return how the allocations of a reservation move; None for one that never had any."""
        types = self.unit.service.types
        pool = pool_of(part, types)
        if pool is None:
            return None
        return Rewriting(
            self.lease,
            part,
            pool,
            self.window,
            self.locks.now,
            self.amendment.ending(part),
            vacated=self._vacated(part),
            leaves=types.gives_up(part),
        )

    def _flags(self, part: Reservation, picks: Sequence[Pick], failed: Collection[int], *, whole: bool) -> Flags:
        """Return the flags of a reservation that has these picks; all that it asks for, if the lease is `whole`."""
        numbers, held = {pick.resource_number for pick in picks}, self._held(part)
        substitutes = any(each.substitute and each.resource_number in numbers for each in held)
        other = changed(part, held, substitutes=substitutes)
        if not whole:
            return Flags(part.missing_resources, other, part.missing)
        # Another request is another promise; the same request may be met by fewer resources than were promised.
        same = self.amendment.of(part).request == part.request
        before = slots_of(held) + ((part.missing or 0) if part.missing_resources else 0)
        missing = max(0, before - slots_of(picks)) if same else 0
        stuck = part.missing_resources and not numbers.isdisjoint(failed)
        return Flags(missing > 0 or stuck, other, missing)

    def _decide(self) -> tuple[RoomMade, Mapping[str, DefaultProperties | None]]:
        """Return what the reservations get, and by their ids what becomes of their default properties."""
        lease, parts, service = self.lease, self._parts, self.unit.service
        # A claim keeps the resource of its published offer, for which nobody else moves.
        claimed = lease.published_offer is not None
        use_disabled = self.amendment.changes.use_disabled and not claimed
        own = [part.id for part in parts]
        if lease.is_maintenance:
            # Windows that overlap close the host together.
            numbers = {held.resource_number for part in parts for held in self._held(part)}
            own += (held.reservation_id for held in windows_on(self.locks.connection, numbers))
        with self.unit.snapshots(self.locks) as snapshots:
            terms = self.unit.terms(lease, self.window, self.locks, use_disabled=use_disabled)
            reserved = terms.reserved
            asked = self._asked(begun=reserved.start <= self.locks.now)
            mine = seen_by_users(service.types, snapshots, self.amendment.changes.described(lease))
            others = {pool: snapshot.without(own) for pool, snapshot in mine.items()}
            longest = held_longest(reserved, map(self.amendment.ending, parts))
            views = {pool: view.booked(self._kept_off(pool), longest) for pool, view in others.items()}
            if claimed:
                views = {pool: view.among(view.eligible.closed()) for pool, view in views.items()}
            proposal = Proposal(
                views,
                asked,
                terms,
                self._allowed,
                service.settings.leases.explanation_seconds,
                movable=self._movable,
                tells_disabled=self.amendment.tells_disabled and not claimed,
                ways=None if claimed else ways_of(service, self.locks, frozenset({lease.id, *self.unit.settled})),
                extended=lease.window.end if self.window.end > lease.window.end else None,
                explains=self.unit.explains,
                refused=self.unit.refused,
                estimating=Estimating(
                    service.estimators,
                    views,
                    self.locks.now,
                    [part.id for part in parts],
                    lease,
                    self.locks.connection,
                ),
            )
            room = proposal.decide()
            for part, want, picks in zip(parts, asked, room.picks, strict=True):
                check_left(left_by(part), want.held, picks, others[want.kind.pool], want.ending.held(reserved))
            gets = zip(parts, asked, room.picks, strict=True)
            return room, {part.id: judged(mine[want.kind.pool], want.default, picks) for part, want, picks in gets}

    @property
    def _movable(self) -> bool:
        """Whether the lease may have another window than the one that is asked for."""
        unstarted = not self.lease.reached(EventType.START)
        return not self._shrinks and unstarted and self.lease.window.start >= to_minute(self.locks.now)

    def _asked(self, *, begun: bool) -> list[Asked]:
        """Return the request of each reservation for the decision; `begun` says that the new window has begun."""
        lease, parts = self.lease, self._parts
        kinds = [self.unit.service.types.get(part.resource_type).kind for part in parts]
        return [
            Asked(
                kind,
                kind.load(self.amendment.of(part).request),
                held=tuple(held.pick for held in self._held(part)),
                leaving=tuple(held.pick for held in (*leaving(part, lease), *lost_by(part))) if begun else (),
                firm=part.status is ReservationStatus.ACTIVE,
                touched=lease.reached(EventType.START),
                before=kind.load(part.request),
                place=self.amendment.of(part).place,
                hidden=self.amendment.hidden,
                ending=self.amendment.ending(part),
                default=self.amendment.default(part),
            )
            for part, kind in zip(parts, kinds, strict=True)
        ]

    def _kept_off(self, pool: str) -> list[Pick]:
        """Return what no reservation of the lease may get: what it gives up or gave up.

        What failed may be taken back together with its servers.
        """
        left = [each for part in self._parts for each in left_by(part) if each.given_up]
        left += [each for part in self._parts for each in part.allocations if each.id in self._vacated(part)]
        return [Pick(number) for number in sorted({each.resource_number for each in left if each.pool == pool})]

    def _allowed(self, window: Window) -> bool:
        """Return whether enforcement would allow the amended lease in this other window."""
        after = self.amendment.in_window(self.lease, window, self.locks.now)
        return self.unit.service.enforcement.would_update(self.lease, after, self.unit.deciding)
