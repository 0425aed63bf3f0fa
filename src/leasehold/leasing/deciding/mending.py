"""What healing does with one reservation: what it gives up, and what it gets instead (features J3, J4, J5).

Pure: a decision on a snapshot of the pool, which `leasing.heal` writes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.leasing.deciding.allocations import by_number, held_by, left_by, taken_back
from leasehold.leasing.deciding.decide import Asked
from leasehold.leasing.deciding.default_properties import judged, preferred
from leasehold.leasing.deciding.flags import Flags, changed
from leasehold.model.allocation import Pick, slots_of
from leasehold.model.budget import nothing_to_check
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.refusal import Refusal
from leasehold.model.states import EventType, ReservationStatus
from leasehold.resource_types.kind import Explain, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.terms.default_properties import DefaultProperties
    from leasehold.model.terms.heal_policy import HealPolicy
    from leasehold.model.terms.margins import Margins
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Kind


class PluginBugError(Exception):
    """A plugin broke its contract; nothing is written for its reservation."""


@dataclass(frozen=True, slots=True)
class HealTerms:
    """The terms of healing: the `failed` resources, and those `returning`, which work and are not reservable yet.

    With `only_back` a reservation gets nothing but what it lost itself, and gives nothing up. `window` is the part of
    the lease that lies ahead, `margins` the cleaning times. `over` are the ids of the allocations that their resources,
    which work, no longer have room for. `check` bounds the time of a decision that somebody asked for, and raises
    TakesTooLongError; healing of itself has no limit, because nobody would ask again.
    """

    failed: Collection[int]
    returning: Collection[int]
    policy: HealPolicy
    window: Window
    margins: Margins
    only_back: bool = False
    over: Collection[int] = ()
    check: Callable[[], None] = nothing_to_check


@dataclass(frozen=True, slots=True)
class Mending:
    """What changes for a reservation.

    It gives up the `lost` allocations because their resources failed or have less than before, and the `dropped` ones
    because the replacement has to be elsewhere, as with an affinity. Of `fresh`, those with True are substitutes. The
    allocations in `back` are vacated ones whose resource it gets again, and `rest` is what of them stays vacated.
    """

    flags: Flags
    lost: Sequence[Allocation] = ()
    dropped: Sequence[Allocation] = ()
    back: Sequence[Allocation] = ()
    fresh: Sequence[tuple[Pick, bool]] = ()
    rest: Sequence[Pick] = ()
    started: bool = False

    @property
    def moves(self) -> bool:
        """Say whether an allocation changes."""
        return bool(self.lost or self.dropped or self.fresh)


def mend(lease: Lease, part: Reservation, kind: Kind[Any], pool: Snapshot, terms: HealTerms) -> Mending:
    """Decide what a reservation gives up and gets; `pool` is the snapshot of its pool, with its own allocations.

    Raises PluginBugError.
    """
    return _Case(lease, part, kind, pool, terms).decide()


def started(lease: Lease, part: Reservation) -> bool:
    """Say whether the reservation may be in use.

    A start that was begun may already have moved hosts, and the owner may have booted servers on them.
    """
    return part.status is ReservationStatus.ACTIVE or lease.reached(EventType.START)


def view_of(part: Reservation, pool: Snapshot, window: Window) -> Snapshot:
    """Return the pool as a reservation finds it, without its own allocations and what it does not get.

    That is what its owner gave up and it does not have again. What failed may be taken back together with its servers.
    """
    given_up = {each.resource_number for each in part.allocations if each.given_up}
    given_up -= {each.resource_number for each in part.allocations if each.left_at is None and each.released_at is None}
    return pool.without([part.id]).booked([Pick(number) for number in sorted(given_up)], window)


def lacking(lease: Lease, part: Reservation, kind: Kind[Any], mending: Mending) -> Asked | None:
    """Return all that the reservation was promised, as a decision that keeps what it has; None if it lacks nothing.

    Raises PluginBugError.
    """
    if not mending.flags.missing:
        return None
    given_up = {each.id for each in (*mending.lost, *mending.dropped)}
    kept = [each.pick for each in held_by(part, lease) if each.id not in given_up]
    has = (*kept, *(pick for pick, _ in mending.fresh))
    try:
        request = kind.load(part.request)
        whole = kind.exactly(request, slots_of(has) + mending.flags.missing)
    except Exception as error:
        raise PluginBugError from error
    return Asked(
        kind, whole, held=has, firm=mending.started, before=request, ending=part.ending, default=part.default_properties
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """One reservation under these terms."""

    lease: Lease
    part: Reservation
    kind: Kind[Any]
    pool: Snapshot
    terms: HealTerms

    def decide(self) -> Mending:
        held, touched = held_by(self.part, self.lease), started(self.lease, self.part)
        replaces = self.terms.policy.replaces(started=touched)
        failed = [each for each in held if each.resource_number in self.terms.failed]
        over = [each for each in held if each.id in self.terms.over and each not in failed]
        # On a resource that works, what is in use stays: its owner is told, and nothing is moved.
        broken = [*failed, *([] if touched else over)] if replaces else []
        lost = broken if not self.terms.only_back else []
        given_up = {each.id for each in lost}
        kept = [each for each in held if each.id not in given_up]
        request = self._request()
        promised = self._promised(request, held)
        picks: Sequence[Pick] = [each.pick for each in kept]
        if slots_of(picks) < promised:
            picks = self._chosen(request, picks, promised, others=replaces and not self.terms.only_back)
        dropped, fresh = difference(kept, picks)
        if dropped and touched:
            raise PluginBugError from ValueError("it gives up resources in use")
        marked = self._marked(fresh)
        missing = promised - slots_of(picks)
        given_up |= {each.id for each in dropped}
        stays = (each for each in held if each.id not in given_up)
        substitutes = any(each.substitute for each in stays) or any(mark for _, mark in marked)
        other = changed(self.part, held, substitutes=substitutes)
        stays_broken = len(broken) < len(failed) + len(over)
        flags = Flags(missing > 0 or stays_broken, other, missing, self._default(picks, changes=bool(lost or fresh)))
        back, rest = taken_back(left_by(self.part), kept, picks)
        return Mending(flags, lost, dropped, back, marked, rest, touched)

    def _request(self) -> Any:
        try:
            return self.kind.load(self.part.request)
        except Exception as error:
            raise PluginBugError from error

    def _promised(self, request: Any, held: Sequence[Allocation]) -> int:
        """Return how much the reservation was promised; if that is not known, the most that it asks for."""
        try:
            return self.part.promised(slots_of(held), partial(self.kind.amount, request))
        except Exception as error:
            raise PluginBugError from error

    def _chosen(self, request: Any, picks: Sequence[Pick], promised: int, *, others: bool) -> Sequence[Pick]:
        """Return the picks and as much more as there is: first what the reservation lost and works again."""
        view = view_of(self.part, self.pool, self._window)
        vacated = (each for each in self.part.allocations if each.left_at is not None)
        lost = {each.resource_number for each in vacated if not each.given_up}
        working = {*self.terms.returning, *view.numbers[view.eligible.bookable()].tolist()} if lost else set()
        again = (lost & working).difference(self.terms.failed)
        if again:
            picks = self._grown(request, picks, promised, view.among(view.eligible.only(again)))
        return self._substituted(request, picks, promised, view) if others else picks

    def _substituted(self, request: Any, picks: Sequence[Pick], promised: int, view: Snapshot) -> Sequence[Pick]:
        """Return the picks and as much more as there is: with its default properties, if that gives all of it."""
        default = self.part.default_properties
        if default is not None and slots_of(picks) < promised:
            found = self._grown(request, picks, promised, preferred(view, default, self.terms.check))
            if slots_of(found) >= promised:
                return found
        return self._grown(request, picks, promised, view)

    def _default(self, picks: Sequence[Pick], *, changes: bool) -> DefaultProperties | None:
        """Return its default properties if it gets or loses something; None leaves them as they are."""
        return judged(self.pool, self.part.default_properties, picks) if changes else None

    @property
    def _window(self) -> Window:
        """The window in which it holds resources."""
        return self.part.ending.held(self.terms.window)

    def _grown(self, request: Any, picks: Sequence[Pick], promised: int, view: Snapshot) -> Sequence[Pick]:
        """Return the picks plus as much of the promised amount as the resources in the view can take."""
        terms, held = self.terms, tuple(picks)
        margin = terms.margins.of(self.kind.pool)
        # What is kept although it no longer fits must not keep the rest from being found.
        over = {each.resource_number for each in held_by(self.part, self.lease) if each.id in terms.over}
        staying = frozenset(over.intersection(pick.resource_number for pick in held))
        search = Search(
            view,
            self._window,
            self._window.duration,
            held,
            firm=started(self.lease, self.part),
            before=request,
            margin=margin,
            explain=Explain.NOTHING,
            check=terms.check,
            staying=staying,
        )
        best, fits = picks, slots_of(picks)
        asked = most = promised
        # If an amount fits, every smaller one does: try the whole amount first, then bisect.
        while fits < most:
            terms.check()
            outcome = self._healed(request, asked, search)
            if outcome is None:
                most = asked - 1
            else:
                best, fits = outcome, asked
            asked = (fits + most + 1) // 2
        return best

    def _healed(self, request: Any, amount: int, search: Search[Any]) -> Sequence[Pick] | None:
        try:
            outcome = self.kind.heal(request, amount, search)
        except TakesTooLongError:
            raise
        except LeaseholdError:
            return None
        except Exception as error:
            raise PluginBugError from error
        return None if isinstance(outcome, Refusal) else outcome

    def _marked(self, fresh: Sequence[Pick]) -> list[tuple[Pick, bool]]:
        """Return the picks, each with whether it is a substitute: an active reservation did not have it before."""
        if self.part.status is not ReservationStatus.ACTIVE:
            return [(pick, False) for pick in fresh]
        own = self._own()
        found: list[tuple[Pick, bool]] = []
        for pick in fresh:
            again = min(pick.slots, own[pick.resource_number])
            shares = ((again, False), (pick.slots - again, True))
            found += [(Pick(pick.resource_number, slots, pick.demand), mark) for slots, mark in shares if slots > 0]
        return found

    def _own(self) -> Counter[int]:
        """Return how many slots of each resource it had when it became active, lost since, and does not have again."""
        start = self.lease.event(EventType.START)
        since = None if start is None else start.updated_at
        lost: dict[tuple[int, datetime], int] = defaultdict(int)
        own: Counter[int] = Counter()
        for each in self.part.allocations:
            # What was lost before the start began has an empty window.
            if each.left_at is None or each.given_up or each.substitute or not each.window.duration:
                continue
            if since is None or each.left_at >= since:
                lost[each.resource_number, each.left_at] += each.slots
        for (number, _), slots in lost.items():
            # A resource that failed more than once was lost more than once.
            own[number] = max(own[number], slots)
        own.subtract(by_number(each for each in held_by(self.part, self.lease) if not each.substitute))
        return +own


def difference(kept: Sequence[Allocation], picks: Sequence[Pick]) -> tuple[list[Allocation], list[Pick]]:
    """Return the kept allocations that the picks do without, and what the picks add, resource by resource."""
    have, wanted = by_number(kept), by_number(picks)
    less = {number for number, slots in have.items() if wanted[number] < slots}
    demands = {pick.resource_number: pick.demand for pick in picks}
    more = {number: slots - (0 if number in less else have[number]) for number, slots in wanted.items()}
    added = [Pick(number, slots, demands[number]) for number, slots in more.items() if slots > 0]
    return [each for each in kept if each.resource_number in less], added
