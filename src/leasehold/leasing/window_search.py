"""When could a lease be had? The first windows in which it would be granted, for each of several alternatives (idea 2).

Nothing is promised: another request may be faster. A lease that asks for a window at once gets it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.enforcement.deciding import Deciding
from leasehold.leasing.decide import decide, seen_by_project
from leasehold.leasing.free_windows import MINUTE, Windows
from leasehold.leasing.new_lease import new_lease, read_reservations
from leasehold.leasing.offer import Offering
from leasehold.leasing.requests import conditions_asked
from leasehold.model.budget import Budget
from leasehold.model.caller import EVERYTHING
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InvalidDateError, LeaseholdError, LimitExceededError, NotEnoughError, NoWindowError
from leasehold.model.lead import Lead
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.decide import Asked, Terms
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight


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
class FoundWindow:
    """A window in which one of the alternatives would be granted, and the amount that each reservation would get."""

    alternative: int
    window: Window
    amounts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Search:
    """What was found: the windows, earliest first, and why the alternatives without a window have none."""

    windows: Sequence[FoundWindow]
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
) -> Search:
    """Return the first windows of each alternative; those of one alternative do not overlap.

    `place` returns the path of a reservation in the client's request, from its alternative and its position there.

    Late binding is left out: a request may be granted earlier. Raises the errors of a lease with these reservations,
    except that there is not enough or that a limit is exceeded; InvalidDateError for the bounds; TakesTooLongError.
    """
    begin = max(wish.earliest, service.now())
    last = _last_start(wish, begin)
    asked = [
        read_reservations(service, caller, raws, sight, partial(place, number))
        for number, raws in enumerate(wish.alternatives)
    ]
    parts = [part for each in asked for part in each]

    def look(pools: Mapping[str, Snapshot], now: datetime) -> Search:
        snapshots = seen_by_project(pools, caller.project_id)
        found: list[FoundWindow] = []
        refused: dict[int, LeaseholdError] = {}
        budget = Budget(service.settings.leases.decision_seconds, service.steady)
        for number, each in enumerate(asked):
            lead = Lead(service.lead_of(part.kind for part in each), now)
            seeker = _Seeker(service, snapshots, each, wish, max(begin, now), last, lead, budget)
            try:
                found += [FoundWindow(number, window, seeker.amounts(window)) for window in seeker.windows()]
            except (NotEnoughError, NoWindowError) as error:
                refused[number] = error
        return Search(found, refused)

    pools = {part.kind.pool for part in parts}
    search = service.ask(pools, look, conditions_asked(parts))
    search = _within_limits(service, caller, asked, search)
    ranked = sorted(search.windows, key=lambda each: (each.window.start, each.alternative))
    return Search(ranked[: wish.limit], search.refused)


class _CountedError(Exception):
    """Ends the transaction of `_within_limits` without a trace, with what it found."""

    def __init__(self, denied: Sequence[LeaseholdError | None]) -> None:
        """Keep for each window why it is denied; None for the others."""
        super().__init__()
        self.denied = denied


def _within_limits(service: Service, caller: Caller, asked: Sequence[Sequence[Asked]], search: Search) -> Search:
    """Return what was found without the windows that the limits on leases forbid.

    The limits are checked when no calendar is locked: requests that wait for a calendar have a connection each. A check
    adds to what the project uses, so all of it is rolled back.
    """

    def check(connection: Connection) -> None:
        deciding = Deciding(connection, service.now(), service.types)
        raise _CountedError(
            [_denied(service, caller, asked[each.alternative], each, deciding) for each in search.windows]
        )

    if not search.windows:
        return search
    denied: Sequence[LeaseholdError | None] = ()
    try:
        service.db.transact(check)
    except _CountedError as counted:
        denied = counted.denied
    pairs = list(zip(search.windows, denied, strict=True))
    allowed = [each for each, error in pairs if error is None]
    refused = dict(search.refused)
    for each, error in pairs:
        if error is not None and all(other.alternative != each.alternative for other in allowed):
            refused.setdefault(each.alternative, error)
    return Search(allowed, refused)


def _denied(
    service: Service, caller: Caller, asked: Sequence[Asked], found: FoundWindow, deciding: Deciding
) -> LeaseholdError | None:
    """Return why the caller may not have this lease in this window; None if it may be had."""
    draft = LeaseDraft("", found.window.start, found.window.end)
    lease = new_lease(service, caller, draft, asked, found.window, deciding.now)
    point = deciding.connection.begin_nested()
    try:
        service.enforcement.check_create(lease, deciding)
    except LimitExceededError as error:
        return error
    finally:
        point.rollback()
    return None


def _last_start(wish: Wish, begin: datetime) -> int | None:
    """Return the last moment at which the lease may start, in seconds; raises InvalidDateError for the bounds."""
    if wish.end is not None and wish.end < begin + (wish.shortest or wish.duration):
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

    def windows(self) -> list[Window]:
        """Return the first windows, of the wanted duration or of the longest that is possible.

        Raises NotEnoughError or NoWindowError if there is none.
        """
        found = self._of_length(self.wish.duration, self.wish.limit)
        if not found and self.wish.shortest is not None:
            found = self._of_length(self._longest(self.wish.shortest), self.wish.limit)
        if not found:
            raise self._refusal()
        return found

    def amounts(self, window: Window) -> list[int]:
        """Return how much each reservation would get in a window."""
        terms = self._terms(window.start, window.duration)
        return [sum(pick.slots for pick in picks) for picks in decide(self.snapshots, self.asked, terms)]

    def _of_length(self, length: timedelta, most: int) -> list[Window]:
        start, found = to_seconds(self.begin), list[Window]()
        windows = Windows(self.snapshots, self.asked, self._terms(self.begin, length))
        while len(found) < most and (window := windows.first(start, self._last_of(length))) is not None:
            found.append(window)
            start = to_seconds(window.end)
        return found

    def _terms(self, start: datetime, length: timedelta) -> Terms:
        terms = self.service.terms(Window(start, start + length), length, lead=self.lead)
        return replace(terms, budget=self.budget)

    def _last_of(self, length: timedelta) -> int | None:
        """Return the last moment at which a lease of this length may start."""
        bounds = [self.last] if self.last is not None else []
        bounds += [to_seconds(self.wish.end - length)] if self.wish.end is not None else []
        return min(bounds, default=None)

    def _longest(self, shortest: timedelta) -> timedelta:
        """Return the longest possible duration, in whole minutes and at least the shortest, found by bisection."""
        least, most = shortest.total_seconds() // MINUTE, self.wish.duration.total_seconds() // MINUTE
        while least < most:
            middle = (least + most + 1) // 2
            if self._of_length(timedelta(minutes=middle), 1):
                least = middle
            else:
                most = middle - 1
        return max(shortest, timedelta(minutes=least))

    def _refusal(self) -> LeaseholdError:
        """Return why there is no window."""
        length = self.wish.shortest or self.wish.duration
        start = from_seconds(-(-to_seconds(self.begin) // MINUTE) * MINUTE)
        terms = self._terms(start, length)
        seconds = self.service.settings.leases.explanation_seconds
        try:
            Offering(self.snapshots, self.asked, terms, lambda _: True, seconds).decide()
        except NotEnoughError as error:
            return error
        # It would fit at once, but not start on a whole minute that the bounds allow.
        return NoWindowError()
