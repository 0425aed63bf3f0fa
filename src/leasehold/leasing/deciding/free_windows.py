"""The windows in which a whole lease fits, found in order and each checked by a whole decision."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from leasehold.leasing.deciding.decide import RefusedError, allocate, decide
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.refusal import Refusal
from leasehold.model.windows import OPEN_END, Window, from_seconds, to_seconds
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms

_SECOND: Final = timedelta(seconds=1)
MINUTE: Final = 60
"""In seconds: offered windows start on whole minutes, because v1 dates have no seconds."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one length, that of the `terms`, in which a lease of these reservations fits.

    Allocations that have ended and are not released last for ever there: nobody knows when they become free.
    """

    snapshots: Mapping[str, Snapshot]
    asked: Sequence[Asked]
    terms: Terms
    careful: Mapping[str, Snapshot] = field(init=False)

    def __post_init__(self) -> None:
        """Make the careful view once for all windows."""
        object.__setattr__(self, "careful", {pool: each.careful() for pool, each in self.snapshots.items()})

    @property
    def any_unreleased(self) -> bool:
        """Whether a window may be missing because something is not released yet."""
        return any(self.careful[pool] is not snapshot for pool, snapshot in self.snapshots.items())

    def first(self, after: int, last: int | None = None) -> Window | None:
        """Return the first window that starts on a whole minute from `after` to `last`, in seconds; None without one.

        No window ends at OPEN_END or later. Raises TakesTooLongError, and the plugin's errors.
        """
        latest = to_seconds(OPEN_END) - 1 - self.terms.length // _SECOND
        last = latest if last is None else min(last, latest)
        start: int | None = -(-after // MINUTE) * MINUTE
        while start is not None and start <= last:
            start = self._first_alone(start)
            if start is None or start > last:
                return None
            terms = self.at(start)
            if self._fit(terms):
                return terms.window
            start = self.next(start)
        return None

    def first_to_end(self, after: int, last: int) -> Window | None:
        """Return the first window until the end in the terms, as `first` does: what fits in one fits in all later ones.

        So it is found by bisection. That end may be OPEN_END.
        """
        first, end = -(-after // MINUTE), self.terms.window.end

        def terms(minute: int) -> Terms:
            window = Window(from_seconds(minute * MINUTE), end)
            return replace(self.terms, window=window, length=window.duration)

        minutes = range(first, last // MINUTE + 1)
        place = bisect_left(minutes, True, key=lambda minute: self._fit(terms(minute)))
        return terms(minutes[place]).window if place < len(minutes) else None

    def longest(self, start: int, last: int) -> Window:
        """Return the longest window from here until a whole minute not after `last`; that of the terms fits there.

        What fits in one fits in all that end sooner, so it is found by bisection.
        """
        least = start + self.terms.length // _SECOND
        ends = range(-(-least // MINUTE), last // MINUTE + 1)
        place = bisect_left(ends, True, lo=min(1, len(ends)), key=lambda end: not self._fit(self._until(start, end)))
        return self._until(start, ends[place - 1]).window if ends else self.at(start).window

    def _until(self, start: int, minute: int) -> Terms:
        window = Window.of_seconds(start, minute * MINUTE)
        return replace(self.terms, window=window, length=window.duration)

    def _fit(self, terms: Terms) -> bool:
        """Say whether the lease fits; the two views may pick different resources, so it has to fit in both."""
        return fits(self.careful, self.asked, terms) and (
            not self.any_unreleased or fits(self.snapshots, self.asked, terms)
        )

    def at(self, start: int) -> Terms:
        """Return the terms of the window that starts at this moment."""
        begin = from_seconds(start)
        return replace(self.terms, window=Window(begin, begin + self.terms.length))

    def _first_alone(self, start: int) -> int | None:
        """Return a start before which some reservation does not fit even alone; None if one never fits."""
        for part in self.asked:
            terms = replace(self.at(start), explain=Explain.WINDOW)
            outcome = allocate(part, self.careful[part.kind.pool], terms)
            if isinstance(outcome, Refusal):
                if outcome.nearest is None:
                    return None
                start = to_seconds(outcome.nearest.start)
        return start

    def next(self, start: int) -> int | None:
        """Return the next start, in seconds, at which the free resources differ; None if there is none."""
        tail = max(part.ending.tail for part in self.asked)
        changes = []
        for pool, snapshot in self.careful.items():
            margin = self.terms.margins.of(pool)
            before, after = (
                -(-(margin + self.terms.lead.time) // _SECOND),
                max(1, (self.terms.length + tail + margin) // _SECOND),
            )
            changes.append(snapshot.next_change(start, before, after, MINUTE))
        return min((change for change in changes if change is not None), default=None)


def fits(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms) -> bool:
    """Return whether the whole lease fits in the window of these terms; raises TakesTooLongError."""
    try:
        decide(snapshots, asked, replace(terms, explain=Explain.NOTHING))
    except RefusedError:
        return False
    except TakesTooLongError:
        raise
    except LeaseholdError:
        return False
    return True
