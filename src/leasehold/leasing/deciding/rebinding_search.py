"""Find other resources for leases that have not started, so that another lease fits (feature A9, decision 0057).

Pure: a search on snapshots of the locked pools. `leasing/room/rebinding.py` says what may move.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from leasehold.calendar.snapshot import instants
from leasehold.leasing.deciding.allocations import by_number
from leasehold.leasing.deciding.decide import RefusedError, decide
from leasehold.leasing.deciding.default_properties import preferred
from leasehold.model.allocation import slots_of
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.refusal import Refusal
from leasehold.model.terms.ending import held_longest
from leasehold.resource_types.kind import Explain, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.locks import Locks
    from leasehold.model.allocation import Allocation, Pick
    from leasehold.model.delay import Delay
    from leasehold.model.terms.default_properties import DefaultProperties
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Kind

log = logging.getLogger(__name__)

MOST_MOVES = 20
"""How many reservations one decision moves at most: each is some statements while others wait for the pool."""
_BUG = "A bug in %s: other resources for reservation %s of lease %s could not be looked for"


@dataclass(frozen=True, slots=True)
class Reassignable:
    """A reservation of another lease that may get other resources; `held` are its allocations, all with one window.

    It gets only what its `projects` may use, and what has its `default` properties if what it has now has them: its
    owner was told so.
    """

    id: str
    lease_id: str
    kind: Kind[Any]
    request: Any
    held: tuple[Allocation, ...]
    projects: tuple[str, ...] = ()
    default: DefaultProperties | None = None

    @property
    def window(self) -> Window:
        """The time that stays as it is."""
        return self.held[0].window

    @property
    def picks(self) -> tuple[Pick, ...]:
        """What it has now."""
        return tuple(each.pick for each in self.held)

    @property
    def amount(self) -> int:
        """How much it has, and keeps."""
        return slots_of(self.held)


@dataclass(frozen=True, slots=True)
class Move:
    """What a reservation has afterwards: as much as before, in the same window."""

    of: Reassignable
    picks: tuple[Pick, ...]


@dataclass(frozen=True, slots=True)
class RoomMade:
    """What every reservation of the lease gets, the moves that make room for it, and what else is written for that.

    A lease that may start later than was asked for, and has to, gets another `window`; `delay` says if that
    is because others are not ready.
    """

    picks: list[Sequence[Pick]]
    moves: tuple[Move, ...] = ()
    writes: tuple[Callable[[Locks], object], ...] = ()
    window: Window | None = None
    delay: Delay | None = None

    @property
    def moves_others(self) -> bool:
        """Whether other leases change."""
        return bool(self.moves or self.writes)

    @property
    def moved(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Which reservations move, and what they then have: part of what an external service approves."""
        return [(each.of.id, sorted((pick.resource_number, pick.slots) for pick in each.picks)) for each in self.moves]

    @property
    def key(self) -> object:
        """The decision as an approval compares it."""
        return [tuple(picks) for picks in self.picks], self.moved


def make_room(
    snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, pool: str, movable: Sequence[Reassignable]
) -> RoomMade | None:
    """Return how a lease that was refused in `pool` fits if some of `movable` move within it; None if nothing is found.

    Few moves are looked for first. If one allocation on another resource makes room, something is found; if it takes
    several, nearly always: these are looked for in a few ways only. Raises TakesTooLongError.
    """
    return _RoomSearch(snapshots, asked, terms, pool, movable).found()


@dataclass(frozen=True, slots=True)
class _RoomSearch:
    """The search in one pool; the arguments of `make_room`."""

    snapshots: Mapping[str, Snapshot]
    asked: Sequence[Asked]
    terms: Terms
    pool: str
    movable: Sequence[Reassignable]

    def found(self) -> RoomMade | None:
        """Return the first room found; there is none if the lease does not fit without all that may move either."""
        if not self.movable or self._decided(self._without(self.movable)) is None:
            return None
        return self._by_one() or self._by_some() or self._in_order() or self._by_any_one()

    # ------------------------------------------------------------ the ways to move

    def _helpful(self) -> Iterator[tuple[Reassignable, Snapshot, list[Sequence[Pick]]]]:
        """Yield each reservation without which the lease fits, with the pool without it, and what the lease gets."""
        for one in sorted(filter(self._in_the_way, self.movable), key=lambda each: (len(each.held), each.amount)):
            gap = self._without([one])
            picks = self._decided(gap)
            if picks is not None:
                yield one, gap, picks

    def _by_one(self) -> RoomMade | None:
        """Move one reservation away from what the lease takes."""
        for one, gap, picks in self._helpful():
            moved = self._placed(one, self._taken(gap, picks))
            if moved is not None:
                return RoomMade(picks, (Move(one, tuple(moved)),))
        return None

    def _by_any_one(self) -> RoomMade | None:
        """Move one allocation to any other resource, and let the lease take what is left; this takes long."""
        for one, gap, _ in self._helpful():
            for position, pick in enumerate(one.picks):
                kept = (*one.picks[:position], *one.picks[position + 1 :])
                for number in self._roomy(gap.for_project(*one.projects), pick, one.window):
                    moved = self._placed(one, gap.among(gap.eligible.only({number})), kept)
                    picks = None if moved is None else self._decided(gap.booked(moved, one.window))
                    if moved is not None and picks is not None:
                        return RoomMade(picks, (Move(one, tuple(moved)),))
        return None

    def _roomy(self, view: Snapshot, pick: Pick, window: Window) -> list[int]:
        """Return the other resources on which an allocation has room."""
        padded, rows = window.widened(self._margin), view.eligible.bookable()
        rows &= view.free(padded) if pick.demand is None else view.slots(padded, pick.demand) >= pick.slots
        return [number for number in view.numbers[rows].tolist() if number != pick.resource_number]

    def _by_some(self) -> RoomMade | None:
        """Clear resources, first the two with the fewest allocations that may move, then twice as many, up to all.

        Whatever is not in the way of the lease stays.
        """
        load: Counter[int] = Counter()
        for each in filter(self._in_the_way, self.movable):
            load.update(pick.resource_number for pick in each.picks)
        order, many = [number for _, number in sorted((count, number) for number, count in load.items())], 2
        while order:
            cleared = set(order[:many])
            out = [each for each in self.movable if any(pick.resource_number in cleared for pick in each.picks)]
            gap = self._without(out)
            picks = self._decided(gap)
            room = None if picks is None else self._settled(picks, self._taken(gap, picks), out)
            if room is not None or many >= len(order):
                return room
            many *= 2
        return None

    def _in_order(self) -> RoomMade | None:
        """Place reservations again, one after the other, where they are if possible; in several orders.

        The first order is what begins after the lease, by its start. On equal resources, of which nothing that begins
        later is fixed, it finds room whenever there is any.
        """
        later = [each for each in self.movable if each.window.start >= self.terms.reserved.start]
        for out, first, order, keeps in product(
            (later, self.movable), (True, False), (_by_start, _by_size), (True, False)
        ):
            gap = self._without(out)
            picks = self._decided(gap) if first else None
            if first and picks is None:
                continue
            view = gap if picks is None else self._taken(gap, picks)
            room = self._placed_again(picks, view, sorted(out, key=order), keeps=keeps)
            if room is not None:
                return room
        return None

    def _settled(self, picks: list[Sequence[Pick]], view: Snapshot, out: Sequence[Reassignable]) -> RoomMade | None:
        """Place these reservations again beside the lease, those first that can stay as they are."""
        displaced = []
        for each in sorted(out, key=_by_start):
            if _same(self._placed(each, view), each):
                view = view.booked(each.picks, each.window)
            else:
                displaced.append(each)
        return self._placed_again(picks, view, displaced, keeps=True)

    def _placed_again(
        self, picks: list[Sequence[Pick]] | None, view: Snapshot, order: Iterable[Reassignable], *, keeps: bool
    ) -> RoomMade | None:
        """Place these reservations in this order, and then the lease, if it has no `picks` yet."""
        moves: list[Move] = []
        for each in order:
            placed = self._placed(each, view, None if keeps else ())
            if placed is None:
                return None
            view = view.booked(placed, each.window)
            if not _same(placed, each):
                moves.append(Move(each, tuple(placed)))
            if len(moves) > MOST_MOVES:
                return None
        picks = self._decided(view) if picks is None else picks
        return None if picks is None else RoomMade(picks, tuple(moves))

    # ------------------------------------------------------------ steps

    @property
    def _margin(self) -> timedelta:
        return self.terms.margins.of(self.pool)

    def _in_the_way(self, one: Reassignable) -> bool:
        held = held_longest(self.terms.reserved, (part.ending for part in self.asked))
        (start, end), (begin, over) = instants(held.widened(self._margin)), one.window.seconds
        return begin < end and over > start

    def _without(self, out: Iterable[Reassignable]) -> Snapshot:
        return self.snapshots[self.pool].without([each.id for each in out])

    def _decided(self, view: Snapshot) -> list[Sequence[Pick]] | None:
        """Return what the lease gets in this view of the pool; None if it does not fit."""
        self.terms.budget.check()
        try:
            return decide({**self.snapshots, self.pool: view}, self.asked, self.terms)
        except TakesTooLongError:
            raise
        except (RefusedError, LeaseholdError):
            return None

    def _taken(self, view: Snapshot, picks: Sequence[Sequence[Pick]]) -> Snapshot:
        """Return the view with all that the lease takes, and what it may still have in use."""
        for part, chosen in zip(self.asked, picks, strict=True):
            if part.kind.pool == self.pool:
                view = view.booked(part.takes(chosen), self.terms.held(part.ending))
        return view

    def _placed(self, one: Reassignable, view: Snapshot, held: tuple[Pick, ...] | None = None) -> Sequence[Pick] | None:
        """Return all that a reservation gets in this view, as its kind chooses it; None if it does not fit.

        It keeps of `held` what it can, by default of all that it has.
        """
        self.terms.budget.check()
        view = view.for_project(*one.projects)
        search = Search(
            view if one.default is None else preferred(view, one.default, self.terms.budget.check),
            one.window,
            one.window.duration,
            one.picks if held is None else held,
            before=one.request,
            margin=self._margin,
            explain=Explain.NOTHING,
            check=self.terms.budget.check,
        )
        try:
            outcome = one.kind.heal(one.request, one.amount, search)
        except TakesTooLongError:
            raise
        except LeaseholdError:
            return None
        except Exception:
            # A plugin's bug about a reservation of another lease: this request is refused as it was before.
            log.exception(_BUG, one.kind.name, one.id, one.lease_id)
            return None
        return None if isinstance(outcome, Refusal) or slots_of(outcome) != one.amount else outcome


def _by_start(one: Reassignable) -> tuple[Any, ...]:
    return one.window.start, one.id


def _by_size(one: Reassignable) -> tuple[Any, ...]:
    """Order the whole before the slots, and the large and long before the others."""
    return any(each.demand is not None for each in one.held), -one.amount, -one.window.duration, one.id


def _same(picks: Sequence[Pick] | None, one: Reassignable) -> bool:
    """Say whether a reservation has the same amount of the same resources as it has now."""
    return picks is not None and by_number(picks) == by_number(one.held)
