"""When could a lease be had? The first windows in which it would be granted, for each of several alternatives (idea 2).

Nothing is promised: another request may be faster. A lease that asks for a window at once gets it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from leasehold.db.project_use import KnownUse, UncountedError
from leasehold.features.availability.limits import WindowLimits, window_limits
from leasehold.leasing.deciding.decide import decide, seen_by_project
from leasehold.leasing.deciding.free_windows import MINUTE, Windows
from leasehold.leasing.fit import Estimating
from leasehold.leasing.new_lease import read_reservations
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.room.counter_offer import Proposal
from leasehold.model.allocation import slots_of
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import InvalidDateError, LeaseholdError, LimitExceededError, NotEnoughError, NoWindowError
from leasehold.model.terms.lead import Lead
from leasehold.model.windows import LAST_YEAR, Window, from_seconds, moved, to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.service import Service
    from leasehold.model.budget import Budget
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted, and when.

    `alternatives` are the reservations of the leases that would do; one is enough. The lease starts from `earliest` to
    `latest` and ends at `end` or before; None is no bound. It lasts `duration`, or if it cannot, as long as possible
    but at least `shortest`. At most `limit` windows are wanted.
    """

    alternatives: Sequence[Sequence[Mapping[str, Any]]]
    duration: timedelta
    earliest: datetime
    latest: datetime | None = None
    end: datetime | None = None
    shortest: timedelta | None = None
    limit: int = 1


@dataclass(frozen=True, slots=True)
class PossibleWindow:
    """A window in which one of the alternatives would be granted, and the amount that each reservation would get.

    `estimates` are what features say about it.
    """

    alternative: int
    window: Window
    amounts: Sequence[int]
    estimates: Sequence[Estimate] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found: the windows, earliest first, and why the alternatives without a window have none."""

    windows: Sequence[PossibleWindow]
    refused: Mapping[int, LeaseholdError]


def in_alternatives(alternative: int, position: int) -> str:
    """Return the path of a reservation in a client's list of alternatives."""
    return f"alternatives[{alternative}][{position}]"


def search_windows(
    service: Service,
    caller: Caller,
    wish: Wish,
    sight: Sight = EVERYTHING,
    place: Callable[[int, int], str] = in_alternatives,
) -> SearchResult:
    """Return the first windows of each alternative; those of one alternative do not overlap.

    `place` returns the path of a reservation in the client's request, from its alternative and its position there.

    Late binding is left out: a request may be granted earlier. Raises the errors of a lease with these reservations,
    except that there is not enough or that a limit is exceeded; InvalidDateError for the bounds; TakesTooLongError.
    """
    begin = max(wish.earliest, service.now())
    asked = [
        read_reservations(service, caller, raws, sight, partial(place, number))
        for number, raws in enumerate(wish.alternatives)
    ]
    parts = [part for each in asked for part in each]
    look = _WindowSearch(service, caller, wish, asked, begin, _last_start(wish, begin))
    pools, conditions = {part.kind.pool for part in parts}, conditions_asked(parts)
    service.enforcement.look_outside(caller.project_id)
    # What the project uses is read before the calendars, whose locks nobody holds for a query.
    with service.db.reading() as connection:
        use = KnownUse.bounded(connection, caller.project_id, service.now())
    try:
        return service.look(pools, partial(look, use), conditions, asks=True)
    except UncountedError:
        with service.db.reading() as connection:
            use = KnownUse.read(connection, caller.project_id, caller.user_id, service.types.whole)
        return service.look(pools, partial(look, use), conditions, asks=True)


@dataclass(frozen=True, slots=True)
class _WindowSearch:
    """The question of a search; `asked` are the alternatives, `begin` and `last` when the lease may start."""

    service: Service
    caller: Caller
    wish: Wish
    asked: Sequence[Sequence[Asked]]
    begin: datetime
    last: int | None

    def __call__(self, use: KnownUse, pools: Mapping[str, Snapshot], now: datetime) -> SearchResult:
        """Return what is found in these pools; raises UncountedError if more has to be known of the project's `use`."""
        service, wish = self.service, self.wish
        snapshots = seen_by_project(pools, self.caller.project_id)
        budget = service.budget()
        begin, least = max(self.begin, now), wish.shortest or wish.duration
        seekers: list[_Seeker] = []
        for each in self.asked:
            lead = Lead(service.lead_of(part.kind for part in each), now)
            limits = window_limits(service, self.caller, each, use, now, least)
            seekers.append(_Seeker(service, snapshots, each, wish, begin, self.last, lead, budget, limits))
        return _earliest(seekers, wish.limit)


def _earliest(seekers: Sequence[_Seeker], limit: int) -> SearchResult:
    """Return the earliest windows of all alternatives; no more are looked for than these and one of each."""
    refused: dict[int, LeaseholdError] = {}
    rows: list[Iterator[tuple[datetime, int, Window]]] = []
    for number, seeker in enumerate(seekers):
        windows = seeker.windows()
        try:
            first = next(windows)
        except (NotEnoughError, NoWindowError, LimitExceededError) as error:
            refused[number] = error
        else:
            rows.append(_ranked(number, chain([first], windows)))
    earliest = islice(merge(*rows), limit)
    return SearchResult([seekers[number].possible(number, window) for _, number, window in earliest], refused)


def _ranked(number: int, windows: Iterable[Window]) -> Iterator[tuple[datetime, int, Window]]:
    for each in windows:
        yield each.start, number, each


def _whole_minute(moment: datetime) -> datetime:
    """Return the first moment from this one on at which a window may start."""
    return from_seconds(-(-to_seconds(moment) // MINUTE) * MINUTE)


def _last_start(wish: Wish, begin: datetime) -> int | None:
    """Return the last moment at which the lease may start, in seconds; raises InvalidDateError for the bounds."""
    shortest = wish.shortest or wish.duration
    if moved(_whole_minute(begin), shortest) is None:
        message = f"A lease ends in {LAST_YEAR} at the latest; ask for an earlier start, or for a shorter lease."
        raise InvalidDateError(message, field="start_date")
    if wish.end is not None and wish.end < begin + shortest:
        message = "The lease does not fit before this end; ask for a later one, or for a shorter lease."
        raise InvalidDateError(message, field="end_date")
    if wish.latest is not None and wish.latest < begin:
        message = "The latest start is before the earliest one, or has passed; ask for a later one."
        raise InvalidDateError(message, field="latest_start_date")
    return None if wish.latest is None else to_seconds(wish.latest)


@dataclass(frozen=True, slots=True)
class _Seeker:
    """The search for one alternative."""

    service: Service
    snapshots: Mapping[str, Snapshot]
    asked: Sequence[Asked]
    wish: Wish
    begin: datetime
    last: int | None
    lead: Lead
    budget: Budget
    limits: WindowLimits

    def windows(self) -> Iterator[Window]:
        """Yield the first windows, of the wanted duration or of the longest that is possible.

        Raises NotEnoughError, NoWindowError or LimitExceededError if there is none.
        """
        start, length = to_seconds(self.begin), self.wish.duration
        window = self._first(start, length)
        if window is None and self.wish.shortest is not None:
            length = self._longest(self.wish.shortest)
            window = self._first(start, length)
        if window is None:
            raise self._refusal()
        while window is not None:
            yield window
            window = self._first(to_seconds(window.end), length)

    def possible(self, alternative: int, window: Window) -> PossibleWindow:
        """Return what each reservation of this alternative would get in a window."""
        picks = decide(self.snapshots, self.asked, self._terms(window.start, window.duration))
        estimates = self._estimating(window, self.asked, picks)
        return PossibleWindow(alternative, window, list(map(slots_of, picks)), estimates)

    @property
    def _estimating(self) -> Estimating:
        return Estimating(self.service.estimators, self.snapshots, self.lead.now)

    def _first(self, after: int, length: timedelta) -> Window | None:
        """Return the first window of a length that starts at a moment or later, and that the limits allow."""
        start: int | None = after
        while start is not None and (window := self._fitting(start, length)) is not None:
            self.budget.check()
            denied = self.limits.denied(window)
            if denied is None:
                return window
            start = self.limits.later(denied, window)
        return None

    def _fitting(self, after: int, length: timedelta) -> Window | None:
        """Return the first window of a length that starts at a moment or later, whatever the limits say."""
        if moved(self.begin, length) is None:
            return None
        windows = Windows(self.snapshots, self.asked, self._terms(self.begin, length))
        return windows.first(after, self._last_of(length))

    def _terms(self, start: datetime, length: timedelta) -> Terms:
        terms = self.service.terms(Window(start, start + length), length, lead=self.lead)
        return replace(terms, budget=self.budget)

    def _last_of(self, length: timedelta) -> int | None:
        """Return the last moment at which a lease of this length may start."""
        bounds = [self.last] if self.last is not None else []
        bounds += [to_seconds(self.wish.end) - int(length.total_seconds())] if self.wish.end is not None else []
        return min(bounds, default=None)

    def _longest(self, shortest: timedelta) -> timedelta:
        """Return the longest possible duration, in whole minutes and at least the shortest, found by bisection."""
        least, most = shortest.total_seconds() // MINUTE, self.wish.duration.total_seconds() // MINUTE
        while least < most:
            middle = (least + most + 1) // 2
            if self._first(to_seconds(self.begin), timedelta(minutes=middle)) is not None:
                least = middle
            else:
                most = middle - 1
        return max(shortest, timedelta(minutes=least))

    def _refusal(self) -> LeaseholdError:
        """Return why there is no window."""
        length = self.wish.shortest or self.wish.duration
        window = self._fitting(to_seconds(self.begin), length)
        denied = None if window is None else self.limits.denied(window)
        if denied is not None:
            return denied
        terms = self._terms(_whole_minute(self.begin), length)
        seconds = self.service.settings.leases.explanation_seconds
        try:
            proposal = Proposal(self.snapshots, self.asked, terms, self._allowed, seconds, estimating=self._estimating)
            proposal.decide()
        except NotEnoughError as error:
            return error
        # It would fit at once, but not start on a whole minute that the bounds allow.
        return NoWindowError()

    def _allowed(self, window: Window) -> bool:
        return self.limits.denied(window) is None
