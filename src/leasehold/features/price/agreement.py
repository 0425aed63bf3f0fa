"""What was agreed with an owner: which tariffs a lease keeps when it changes, and what it costs by them.

An agreement has lines. At each moment of a reservation as many units (resources or slots) have a line as it has then,
and what has elapsed never changes. Whatever a change leaves of a promise keeps its tariff; what it adds, more time or
more units, gets the tariff of the moment at which it is added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal, localcontext
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from leasehold.features.price.model import EXACT, HOUR, NOTHING, ONE, seconds_of, without
from leasehold.model.windows import EPOCH, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from leasehold.features.price.model import Tariff


MINUTE = timedelta(minutes=1)
Quote: TypeAlias = "Callable[[timedelta], Tariff]"


@dataclass(frozen=True, slots=True)
class Line:
    """So many units of a reservation have this tariff in a window."""

    reservation_id: str
    window: Window
    units: int
    tariff: Tariff

    def hour_seconds(self, within: Window | None = None) -> Decimal:
        """Return what it costs, or the part of it within a window, times 3600."""
        window = self.window if within is None else common(self.window, within)
        with localcontext(EXACT):
            return NOTHING if window is None else self.units * self.tariff.hour_seconds(window)


@dataclass(frozen=True, slots=True)
class Once:
    """What is paid once: the `amount`, times 3600, that was due when units of a reservation were promised."""

    reservation_id: str
    due_at: datetime
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a lease costs at most: its lines, in the order in which they were promised, and what is paid once.

    If an hour that is used costs more than one that is not, all of it counts as used. Time that was given up has lines
    of its own, which cost the share that the tariff says, and never change.
    """

    lines: tuple[Line, ...] = ()
    given_up: tuple[Line, ...] = ()
    once: tuple[Once, ...] = ()

    def beside(self, windows: Sequence[Window]) -> Decimal:
        """Return how much lies beside these windows: hours of each unit at its price, before any factor, times 3600.

        And what is paid once, if none of them has its moment.
        """
        with localcontext(EXACT):
            found = [
                each.units * each.tariff.hour * seconds_of(without([each.window], windows))
                for each in (*self.lines, *self.given_up)
            ]
            due = [each.amount for each in self.once if not any(one.start <= each.due_at < one.end for one in windows)]
            return sum([*found, *due], NOTHING)

    @property
    def by_the_clock(self) -> timedelta:
        """How long the longest line is whose price depends on the hour."""
        return max((each.window.duration for each in self.lines if each.tariff.times), default=timedelta(0))

    @property
    def costs(self) -> bool:
        """Whether anything of it costs anything."""
        return bool(self.given_up or self.once or any(each.tariff.hour for each in self.lines))

    def hour_seconds(self, within: Window | None = None) -> Decimal:
        """Return what all of it costs, or what falls within a window, times 3600."""
        with localcontext(EXACT):
            due = [each.amount for each in self.once if within is None or within.start <= each.due_at < within.end]
            lost = [each.hour_seconds(within) * each.tariff.given_up for each in self.given_up]
            most = [each.hour_seconds(within) * each.tariff.most for each in self.lines]
            return sum([*most, *lost, *due], NOTHING)

    @property
    def last(self) -> datetime:
        """The moment after which nothing is agreed."""
        ends = [*(each.window.end for each in (*self.lines, *self.given_up)), *(each.due_at for each in self.once)]
        return max(ends, default=EPOCH)


NO_AGREEMENT = Agreement()


def placed(agreed: Agreement, start: datetime) -> Agreement:
    """Return an agreement whose lines begin with their lease, which Leasehold may have moved.

    One that was promised from now on begins within the minute after its start.
    """
    first = min((each.window.start for each in agreed.lines), default=start)
    by = start - first
    if -MINUTE < by <= timedelta(0):
        return agreed
    lines = (replace(each, window=Window(each.window.start + by, each.window.end + by)) for each in agreed.lines)
    return replace(agreed, lines=tuple(lines))


@dataclass(frozen=True, slots=True)
class Has:
    """What a reservation has in a window from a decision on: so many units of each quote, last those that are new.

    A quote returns the tariff of units that are promised so long before they begin.
    """

    reservation_id: str
    window: Window
    units: Sequence[tuple[Quote, int]] = ()

    @property
    def total(self) -> int:
        """How many units it has."""
        return sum(units for _, units in self.units)

    def cut(self, end: datetime | None = None, units: int | None = None) -> Has:
        """Return it with an earlier end, not before its start, and with the first of its units, so many of them."""
        last = self.window.end if end is None else max(self.window.start, min(end, self.window.end))
        left, kept = self.total if units is None else units, list[tuple[Quote, int]]()
        for quote, there in self.units:
            kept.append((quote, min(left, there)))
            left -= kept[-1][1]
        return Has(self.reservation_id, Window(self.window.start, last), kept)

    def last(self, units: int, notice: timedelta) -> Iterator[tuple[Tariff, int]]:
        """Yield the tariffs of the last of its units, so many of them, those together that are the same."""
        found: list[tuple[Tariff, int]] = []
        for quote, there in reversed(self.units):
            taken = min(units, there)
            units -= taken
            if taken:
                found.append((quote(notice), taken))
        for tariff, same in groupby(found, itemgetter(0)):
            yield tariff, sum(count for _, count in same)


def renewed(before: Agreement, parts: Sequence[Has], now: datetime, *, free: bool = False) -> Agreement:
    """Return the agreement after a decision of now, by which the lease has these parts and nothing else ahead.

    Time that is given up costs its share, unless that is `free`.
    """
    lines, given_up, once = list[Line](), list(before.given_up), list(before.once)
    found = {each.reservation_id: each for each in parts}
    for ident in dict.fromkeys([*(each.reservation_id for each in before.lines), *found]):
        mine = [each for each in before.lines if each.reservation_id == ident]
        has = found.get(ident) or Has(ident, Window(now, now))
        kept = _kept(mine, has, now)
        added = list(_added(kept, has, now))
        lines += [*kept, *added]
        once += _flats(mine, has, added, now)
        given_up += () if free else _lost(mine, kept)
    return Agreement(tuple(_joined(lines)), tuple(given_up), tuple(once))


def _kept(lines: Sequence[Line], has: Has, now: datetime) -> list[Line]:
    """Return what is left of lines: all that has elapsed, and ahead as many units as there are, the oldest first."""
    kept: list[Line] = []
    ahead: list[Line] = []
    for each in lines:
        past = common(each.window, Window(min(each.window.start, now), now))
        if past is not None:
            kept.append(replace(each, window=past))
        rest = common(each.window, _ahead(has.window, now))
        if rest is None:
            continue
        for piece, others in _pieces(ahead, rest):
            units = min(each.units, has.total - sum(other.units for other in others))
            if units > 0:
                kept.append(replace(each, window=piece, units=units))
        ahead = [line for line in kept if line.window.end > now]
    return kept


def _added(kept: Sequence[Line], has: Has, now: datetime) -> Iterator[Line]:
    """Yield lines for what no line is left of."""
    window = _ahead(has.window, now)
    for piece, others in _pieces(kept, window):
        for tariff, units in has.last(has.total - sum(other.units for other in others), piece.start - now):
            yield Line(has.reservation_id, piece, units, tariff)


def _flats(lines: Sequence[Line], has: Has, added: Sequence[Line], now: datetime) -> Iterator[Once]:
    """Yield what is paid once for units beyond those that the reservation has ever had."""
    most = max((sum(other.units for other in others) for _, others in _steps(lines)), default=0)
    more = max(0, has.total - most)
    notice = max(has.window.start - now, timedelta(0))
    flat = sum((tariff.flat * units for tariff, units in has.last(more, notice)), NOTHING) if added else NOTHING
    if flat:
        yield Once(has.reservation_id, now, flat * HOUR)


def _lost(lines: Sequence[Line], kept: Sequence[Line]) -> Iterator[Line]:
    """Yield what was in lines and is not kept, if it costs something to give it up."""
    for tariff in dict.fromkeys(each.tariff for each in lines if each.tariff.given_up):
        were = [each for each in lines if each.tariff == tariff]
        are = [each for each in kept if each.tariff == tariff]
        for piece, there in _steps(were):
            for part, left in _pieces(are, piece):
                units = sum(each.units for each in there) - sum(each.units for each in left)
                if units:
                    yield Line(were[0].reservation_id, part, units, tariff)


def _ahead(window: Window, now: datetime) -> Window:
    start = max(window.start, now)
    return Window(start, max(start, window.end))


def common(one: Window, other: Window) -> Window | None:
    """Return the time that is in both windows; None: there is none."""
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Window(start, end) if start < end else None


def _pieces(lines: Sequence[Line], window: Window) -> Iterator[tuple[Window, list[Line]]]:
    """Yield the parts of a window in which the same lines are, with these."""
    edges = {moment for each in lines for moment in (each.window.start, each.window.end)}
    inside = sorted({window.start, window.end, *(each for each in edges if window.start < each < window.end)})
    for start, end in pairwise(inside):
        yield Window(start, end), [each for each in lines if each.window.start <= start and end <= each.window.end]


def _steps(lines: Sequence[Line]) -> Iterator[tuple[Window, list[Line]]]:
    if lines:
        whole = Window(min(each.window.start for each in lines), max(each.window.end for each in lines))
        yield from _pieces(lines, whole)


def _joined(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield lines, those as one that follow each other and are the same."""
    last: Line | None = None
    for each in lines:
        if last is not None and each == replace(last, window=each.window) and last.window.end == each.window.start:
            last = replace(last, window=Window(last.window.start, each.window.end))
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def amount(hour_seconds: Decimal, places: int) -> Decimal:
    """Return an amount that is given times 3600, rounded once, half to even."""
    with localcontext(EXACT):
        return (hour_seconds / HOUR).quantize(ONE.scaleb(-places))
