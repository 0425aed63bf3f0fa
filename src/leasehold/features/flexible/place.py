"""Where a flexible lease fits, and which of these places is the best by its strategy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.features.flexible.model import Strategy
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.decide import Asked, RefusedError, booked, decide
from leasehold.leasing.deciding.free_windows import MINUTE, Windows
from leasehold.model.errors import TakesTooLongError
from leasehold.model.windows import Window, to_seconds
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Pick
    from leasehold.model.lease import Lease

MOST_PLACES: Final = 400
"""How many places one search compares, soonest first."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A window, and what it costs by a strategy, in seconds: the less the better, and of equal ones the first."""

    cost: int
    window: Window


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a lease in these stretches of time, each of which is long enough; they start on whole minutes."""

    windows: Windows
    stretches: Sequence[Window]

    def first(self, but: Window | None = None) -> Window | None:
        """Return the first place that is not this one; None without one. Raises TakesTooLongError."""
        for each in self.stretches:
            found = self._from(to_seconds(each.start), each)
            if found is not None and found == but:
                found = self._from(to_seconds(found.start) + MINUTE, each)
            if found is not None:
                return found
        return None

    def best(self, strategy: Strategy, now: datetime) -> Place | None:
        """Return the best place, of equal ones the first; None without any.

        If there is no time to compare all, it is the best of those that were; raises TakesTooLongError if none was.
        """
        if strategy is Strategy.SOONEST:
            found = self.first()
            return None if found is None else Place(to_seconds(found.start), found)
        best: Place | None = None
        try:
            for each in islice(self._each(), MOST_PLACES):
                cost = self._broken(each, now)
                if cost is not None:
                    best = min(best or Place(cost, each), Place(cost, each))
        except TakesTooLongError:
            if best is None:
                raise
        return best

    def gaps(self, step: int = MINUTE) -> Iterator[Window]:
        """Yield the longest windows in which the lease fits in one piece, none of which is within another.

        In a stretch each ends at least `step`, in seconds, later than the one before.
        """
        for each in self.stretches:
            found = self._from(to_seconds(each.start), each)
            while found is not None:
                start, last = to_seconds(found.start), to_seconds(each.end)
                gap = self.windows.longest(start, last)
                yield gap
                # The next one begins where the lease may last longer than until this one's end.
                end, least = to_seconds(gap.end) + step, self.windows.terms.length
                if end > last:
                    break
                beyond = replace(self.windows.terms, window=Window.of_seconds(start, end))
                latest = end - int(least.total_seconds())
                later = replace(self.windows, terms=beyond).first_to_end(start + MINUTE, latest)
                found = self.windows.at(to_seconds(later.start)).window if later else self._from(latest + MINUTE, each)

    def cost(self, strategy: Strategy, window: Window, picks: Sequence[Sequence[Pick]], now: datetime) -> int:
        """Return what it costs to have these resources in this window."""
        if strategy is Strategy.SOONEST:
            return to_seconds(window.start)
        held = replace(self.windows.terms, window=window)
        parts = zip(self.windows.asked, picks, strict=True)
        return sum(
            broken(
                self.windows.snapshots[part.kind.pool],
                {pick.resource_number for pick in chosen},
                held.held(part.ending),
                now,
            )
            for part, chosen in parts
        )

    def together(self, strategy: Strategy, windows: Sequence[Window], now: datetime) -> int | None:
        """Return what leases in these windows cost, each beside those before it; None if they do not fit."""
        present, total = self, 0
        for window in windows:
            all_, terms = present.windows, replace(self.windows.terms, window=window, length=window.duration)
            try:
                picks = decide(all_.snapshots, all_.asked, replace(terms, explain=Explain.NOTHING))
            except RefusedError:
                return None
            total += present.cost(strategy, window, picks, now)
            there = booked(all_.snapshots, all_.asked, picks, terms)
            present = replace(present, windows=replace(all_, snapshots=there))
        return total

    def _from(self, start: int, stretch: Window) -> Window | None:
        return self.windows.first(start, to_seconds(stretch.end - self.windows.terms.length))

    def _each(self) -> Iterator[Window]:
        """Yield the first and the last place of each time in which the same resources are free.

        Between these two the time that is broken off is longer than at one of them.
        """
        for each in self.stretches:
            last = to_seconds(each.end - self.windows.terms.length) // MINUTE * MINUTE
            found = self._from(to_seconds(each.start), each)
            while found is not None:
                yield found
                start = to_seconds(found.start)
                change = self.windows.next(start)
                until = last if change is None else min(last, change - MINUTE)
                if until > start:
                    yield self.windows.at(until).window
                found = None if change is None or change > last else self._from(change, each)

    def _broken(self, window: Window, now: datetime) -> int | None:
        terms = replace(self.windows.terms, window=window, explain=Explain.NOTHING)
        try:
            picks = decide(self.windows.snapshots, self.windows.asked, terms)
        except RefusedError:
            return None
        return self.cost(Strategy.SLEEP, window, picks, now)


def broken(view: Snapshot, numbers: Collection[int], window: Window, now: datetime) -> int:
    """Return how much idle time a lease breaks off from that of its resources, in seconds.

    On each the window divides the time between what is there before it, or now, and what is there after it. The shorter
    part is broken off: what is left in one piece is as long as can be if that is nothing.
    """
    (start, end), since = window.seconds, to_seconds(now)
    mask = np.zeros(len(view.numbers), np.bool_)
    rows = view.rows(sorted(numbers))
    mask[rows] = True
    held = view.held((since, max(view.busy_until(), end) + 1), mask)
    total = 0
    for row in rows:
        mine = held.part(held.rows == row)
        earlier, later = mine.starts < start, mine.ends > end
        before = start - int(np.minimum(mine.ends[earlier], start).max(initial=min(since, start)))
        after = int(np.maximum(mine.starts[later], end).min()) - end if later.any() else before
        total += min(before, after)
    return total


def asked_again(service: Service, lease: Lease) -> list[Asked]:
    """Return what a lease that has not started asks for in another window; it keeps the resources that it can."""
    found = [(service.types.get(part.resource_type).kind, part) for part in lease.kept]
    return [
        Asked(
            kind,
            kind.load(part.request),
            held=tuple(held.pick for held in held_by(part, lease)),
            before=kind.load(part.request),
            ending=part.ending,
            default=part.default_properties,
        )
        for kind, part in found
    ]
