"""The counter-offer in a refusal: the nearest window and the largest amount, each checked by a whole decision.

The reservations of a lease compete for resources, so only a decision about the whole lease says whether it fits.
Allocations that have ended and are not released are never offered: nobody knows when they become free.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.leasing.deciding.decide import RefusedError, allocate, decide
from leasehold.leasing.deciding.free_windows import MINUTE, Windows, fits
from leasehold.leasing.deciding.rebinding_search import RoomMade
from leasehold.leasing.fit import NOBODY_ASKED
from leasehold.model.allocation import slots_of
from leasehold.model.delay import Delay
from leasehold.model.errors import InUseError, LeaseholdError, TakesTooLongError
from leasehold.model.refusal import NoWindow, Refusal
from leasehold.model.windows import OPEN_END, Window, from_seconds, to_seconds
from leasehold.resource_types.fields import MOST
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.way import Way
    from leasehold.leasing.fit import Estimating
    from leasehold.model.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Proposal:
    """All that a lease asks for, with the pools' snapshots; if it is refused, there is a counter-offer.

    `movable` says that the lease may have another window, `allowed` whether enforcement allows one. `extended` is the
    present end of a lease that asks for a later one. `seconds` limits the search for a counter-offer. `tells_disabled`
    says that the caller may learn that disabled resources would have been enough. `ways` may make room before the lease
    is refused; a counter-offer is found without them. Before that it gets the first window that starts no later than at
    `latest`; None: nobody can ask for that. Unless it `explains`, a refusal is raised as it is, and nobody makes room.
    One that is known is `refused` by that. Features are asked about counter-offers (`estimating`).
    """

    snapshots: Mapping[str, Snapshot]
    asked: Sequence[Asked]
    terms: Terms
    allowed: Callable[[Window], bool]
    seconds: float
    movable: bool = True
    tells_disabled: bool = False
    ways: Way | None = None
    extended: datetime | None = None
    latest: datetime | None = None
    explains: bool = True
    refused: tuple[int, Refusal] | None = None
    estimating: Estimating = NOBODY_ASKED

    def decide(self) -> RoomMade:
        """Return the picks of every reservation; raises what `leasehold.leasing.deciding.decide.decide` raises.

        A refusal becomes NotEnoughError. InUseError says how late the lease can end, if that helps.
        """
        try:
            if self.refused is None:
                return RoomMade(decide(self.snapshots, self.asked, self.terms))
            position, refusal = self.refused
        except RefusedError as refused:
            if not self.explains:
                raise
            position, refusal = refused.position, refused.refusal
        except InUseError as error:
            if not self.explains:
                raise
            # What an active reservation keeps is promised to others in the new window.
            room = self._room(next((part.kind.pool for part in self.asked if part.firm and part.held), None))
            if room is None:
                raise self._hurried().extended_at_most(error) from None
            return room
        room = self._room(self.asked[position].kind.pool)
        hurried = self._hurried()
        room = room or hurried.later()
        if room is not None:
            return room
        explained = _CounterOffer(hurried, position).added_to(refusal)
        explained = replace(explained, delay=hurried.delay(explained.nearest), may_wait=self.latest is not None)
        asked = self.asked[position]
        raise asked.blame(asked.kind.not_enough(explained))

    def later(self) -> RoomMade | None:
        """Return what the lease gets in the first window that starts soon enough; None if there is none, or no time.

        It keeps its length, and one without an end has none then either.
        """
        start, end = self.terms.window.start, self.terms.window.end
        if self.latest is None or self.latest <= start:
            return None
        windows = Windows(self.snapshots, self.asked, self.terms)
        first = windows.first_to_end if end >= OPEN_END else windows.first
        with suppress(TakesTooLongError, RefusedError):
            window = first(to_seconds(start), to_seconds(self.latest))
            if window is not None and self.allowed(window):
                picks = decide(self.snapshots, self.asked, replace(self.terms, window=window, length=window.duration))
                return RoomMade(picks, window=window, delay=self.delay(window))
        return None

    def delay(self, window: Window | None) -> Delay | None:
        """Return how much later the lease fits, in this `window`, because resources are not ready; None if not so."""
        unready = {number for view in self.snapshots.values() for number in view.unready}
        if not unready:
            return None
        ready, terms = {pool: view.as_if_ready() for pool, view in self.snapshots.items()}, self.terms
        try:
            picks = decide(ready, self.asked, replace(terms, explain=Explain.NOTHING))
        except (RefusedError, LeaseholdError):
            return None
        needed = {pick.resource_number for each in picks for pick in each}
        if window is None:
            return Delay(frozenset(needed & unready))
        return Delay(frozenset(needed & unready), window.start - terms.window.start, window.start - terms.lead.now)

    def extended_at_most(self, error: InUseError) -> InUseError:
        """Return the error, which says how late the lease can end, if that helps."""
        end = _latest_end(self)
        return error if end is None else error.but_until(end, self.estimated(_until(self.terms, end)))

    def estimated(self, terms: Terms, asked: Sequence[Asked] | None = None) -> Sequence[Estimate]:
        """Return what features say about the lease with these terms, for as long as the budget lasts."""
        parts = self.asked if asked is None else asked
        if self.estimating.estimators:
            with suppress(LeaseholdError, RefusedError):
                return self.estimating(terms.window, parts, decide(self.snapshots, parts, terms))
        return ()

    def _hurried(self) -> Proposal:
        return replace(self, terms=replace(self.terms, budget=self.terms.budget.part(self.seconds)))

    def _room(self, pool: str | None) -> RoomMade | None:
        if self.ways is None or pool is None:
            return None
        return self.ways.room(self.snapshots, self.asked, self.terms, pool)


@dataclass(frozen=True, slots=True)
class _CounterOffer:
    """The search for an alternative to a lease whose reservation at `position` is refused."""

    where: Proposal
    position: int

    def added_to(self, refusal: Refusal) -> Refusal:
        """Return the refusal with the best counter-offer found within the time budget."""
        largest, latest = self._largest(refusal.largest), _latest_end(self.where)
        try:
            nearest, why = self._nearest()
        except TakesTooLongError:
            nearest, why = None, NoWindow.TIME
        alone = self._alone()
        if alone is not None and alone.largest > largest:
            refusal = replace(refusal, steps=alone.steps, alone=alone.largest)
        return replace(
            refusal,
            largest=largest,
            nearest=nearest,
            no_window=why,
            latest_end=latest,
            fits_on_disabled=self._fits_on_disabled(),
            estimates=self._estimates(nearest, largest, latest),
        )

    def _estimates(
        self, nearest: Window | None, largest: int, latest: datetime | None
    ) -> Mapping[str, Sequence[Estimate]]:
        """Return what features say about each counter-offer."""
        where, terms = self.where, self.where.terms
        found: dict[str, Sequence[Estimate]] = {}
        if nearest is not None:
            found["nearest"] = where.estimated(replace(terms, window=nearest))
        if largest:
            found["largest"] = where.estimated(terms, _with_amount(where.asked, self.position, largest))
        if latest is not None:
            found["latest_end"] = where.estimated(_until(terms, latest))
        return {offer: said for offer, said in found.items() if said}

    def _alone(self) -> Refusal | None:
        """Return the refusal of more than there is for the reservation without the others; None if there is no time."""
        where = self.where
        part = where.asked[self.position]
        if len(where.asked) > 1:
            with suppress(LeaseholdError):
                where.terms.budget.check()
                all_of_it = replace(part, request=part.kind.exactly(part.request, MOST))
                outcome = allocate(all_of_it, where.snapshots[part.kind.pool], where.terms)
                return outcome if isinstance(outcome, Refusal) else None
        return None

    def _fits_on_disabled(self) -> bool:
        """Say whether the lease is refused only because resources are disabled, to callers who may know."""
        where = self.where
        if not where.tells_disabled or not any(each.eligible.any_disabled for each in where.snapshots.values()):
            return False
        with suppress(TakesTooLongError):
            return fits(where.snapshots, where.asked, replace(where.terms, use_disabled=True))
        return False

    # ------------------------------------------------------------ amounts

    def _largest(self, most: int) -> int:
        """Return the largest amount, at most `most`, with which the whole lease fits; found by bisection."""
        where, least = self.where, 0
        with suppress(TakesTooLongError):
            for amount in _ever_larger(where.snapshots, where.asked, self.position, where.terms, most):
                least = amount
        return least

    # ------------------------------------------------------------ windows

    def _nearest(self) -> tuple[Window | None, NoWindow]:
        """Return the first window in which the whole lease fits, or None and the reason."""
        where = self.where
        if not where.movable:
            return None, NoWindow.STARTED
        windows = Windows(where.snapshots, where.asked, where.terms)
        found = windows.first(to_seconds(where.terms.window.start))
        if found is None:
            return None, NoWindow.UNRELEASED if windows.any_unreleased else NoWindow.NEVER
        return (found, NoWindow.NEVER) if where.allowed(found) else (None, NoWindow.LIMITS)


def _latest_end(where: Proposal) -> datetime | None:
    """Return the latest whole minute at which the whole lease could end; None if that extends it by nothing.

    Found by bisection between its present end and what was asked for, for as long as the budget lasts.
    """
    if where.extended is None:
        return None
    terms = where.terms
    first = to_seconds(max(where.extended, terms.window.start)) // MINUTE
    least, most, found = first, -(-to_seconds(terms.window.end) // MINUTE) - 1, None
    with suppress(TakesTooLongError):
        while least < most:
            middle = (least + most + 1) // 2
            end = from_seconds(middle * MINUTE)
            if fits(where.snapshots, where.asked, _until(terms, end)):
                least, found = middle, end
            else:
                most = middle - 1
    return found


def _until(terms: Terms, end: datetime) -> Terms:
    """Return the terms with an earlier end."""
    return replace(terms, window=Window(terms.window.start, end), length=terms.length - (terms.window.end - end))


def most_available(part: Asked, snapshot: Snapshot, terms: Terms) -> int:
    """Return the largest amount with which a lease of this one reservation would be granted, whatever it asks for.

    Raises the plugin's errors where no amount is granted, and TakesTooLongError.
    """
    all_of_it = part.kind.exactly(part.request, MOST)
    outcome = allocate(replace(part, request=all_of_it), snapshot, terms)
    most = outcome.largest if isinstance(outcome, Refusal) else slots_of(outcome)
    return max(_ever_larger({part.kind.pool: snapshot}, [part], 0, terms, most), default=0)


def _ever_larger(
    snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], position: int, terms: Terms, most: int
) -> Iterator[int]:
    """Yield amounts of a reservation, at most `most`, with which the whole lease fits; the last is the largest.

    Found by bisection, and `most` is tried first.
    """
    least, amount = 0, most
    while least < most:
        if _fits_with(snapshots, asked, position, terms, amount):
            least = amount
            yield amount
        else:
            most = amount - 1
        amount = (least + most + 1) // 2


def _fits_with(
    snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], position: int, terms: Terms, amount: int
) -> bool:
    part = asked[position]
    if part.firm and amount < slots_of(part.held):
        return False
    others = _with_amount(asked, position, amount)
    try:
        part.kind.parse(others[position].stored)
    except LeaseholdError:
        return False
    return fits(snapshots, others, terms)


def _with_amount(asked: Sequence[Asked], position: int, amount: int) -> list[Asked]:
    """Return what is asked for, with another amount of one reservation."""
    part = asked[position]
    changed = replace(part, request=part.kind.exactly(part.request, amount))
    return [changed if place == position else each for place, each in enumerate(asked)]
