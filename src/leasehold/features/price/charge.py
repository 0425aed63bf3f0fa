"""Charges: what is billed of an agreement for time that is over, with what became of it (decision 0157). Pure.

All that was agreed is charged, at the price of what was used or of what was not; what came late or was missing is given
back as a credit of its own. A charge never changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from leasehold.features.price.agreement import Line, amount, common
from leasehold.features.price.budget import MICRO, to_micro
from leasehold.features.price.model import EXACT, HOUR, NOTHING, ONE
from leasehold.leasing.record import Became
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leasehold.features.price.agreement import Agreement
    from leasehold.features.price.model import Tariff
    from leasehold.leasing.record import Span


class Kind(StrEnum):
    """What is charged."""

    USED = "used"
    """Time in which something of the owner ran."""
    UNUSED = "unused"
    """Other time that was promised."""
    GIVEN_UP = "given_up"
    """The share of the price that is paid for time that the owner gave up."""
    FILLER = "filler"
    """Time in which somebody had something without a promise."""
    FLAT = "flat"
    """What is paid once."""
    LATE = "late"
    """A credit for time before the start was done."""
    MISSING = "missing"
    """A credit for time in which the reservation had fewer resources than promised."""
    CORRECTION = "correction"
    """What operators give or take afterwards."""


@dataclass(frozen=True, slots=True)
class Charge:
    """So many units of a reservation cost `price` an hour each in a window; below zero it is a credit.

    `agreed` is what had been agreed of that. What is paid once is one unit for an hour that begins when it is due.
    """

    reservation_id: str
    kind: Kind
    window: Window
    units: int
    price: Decimal
    agreed: Decimal
    list_name: str

    @property
    def amount(self) -> int:
        """What it costs, in millionths, rounded half to even."""
        return self._of(self.price, self.window)

    def beside(self, within: Window | None = None) -> int:
        """Return how much more it costs than was agreed, or the part of that within a window, in millionths."""
        start = self.window.start if within is None else max(self.window.start, within.start)
        end = self.window.end if within is None else min(self.window.end, within.end)
        return self._of(self.price - self.agreed, Window(start, end)) if start < end else 0

    def _of(self, price: Decimal, window: Window) -> int:
        start, end = window.seconds
        with localcontext(EXACT):
            return to_micro(amount(self.units * price * (end - start), MICRO))


def charges(agreed: Agreement, became: Mapping[str, Sequence[Span]], window: Window, period: int) -> list[Charge]:
    """Return what is charged for a window that is over, with what became of each reservation, by its id.

    No charge reaches beyond a multiple of `period` seconds.
    """
    found: list[Charge] = []
    for ident in dict.fromkeys(line.reservation_id for line in agreed.lines):
        lines = [line for line in agreed.lines if line.reservation_id == ident]
        found += _of_time(lines, became.get(ident, ()), window, period)
    for line in agreed.given_up:
        within = common(line.window, window)
        if within is not None:
            found += _at_share(line, Kind.GIVEN_UP, line.tariff.given_up, within, period)
    for once in agreed.once:
        if window.start <= once.due_at < window.end:
            with localcontext(EXACT):
                price = once.amount / HOUR
            due = to_seconds(once.due_at)
            hour = Window.of_seconds(due, due + HOUR)
            found.append(Charge(once.reservation_id, Kind.FLAT, hour, 1, price, price, ""))
    return found


class _Rate(NamedTuple):
    """The price of an hour of each unit of a line in a piece of time, whether it is used or not; lines are numbered."""

    number: int
    tariff: Tariff
    hour: Decimal
    units: int

    def charge(self, reservation_id: str, kind: Kind, window: Window, units: int, times: Decimal = ONE) -> Charge:
        """Return the charge of some of the units; what is not a credit was agreed as used if that costs more."""
        with localcontext(EXACT):
            agreed = self.hour * self.tariff.most if times >= 0 else NOTHING
            return Charge(reservation_id, kind, window, units, self.hour * times, agreed, self.tariff.list_name)


def _of_time(lines: Sequence[Line], spans: Sequence[Span], window: Window, period: int) -> Iterator[Charge]:
    """Yield the charges of the lines of a reservation, those as one that follow each other and are the same."""
    made: dict[object, list[Charge]] = {}
    priced = [
        (_Rate(number, line.tariff, factor * line.tariff.hour, line.units), part)
        for number, line in enumerate(lines)
        if (within := common(line.window, window)) is not None and line.tariff.hour
        for factor, parts in line.tariff.pieces(within)
        for part in parts
    ]
    edges = {*(part.seconds for _, part in priced), *((span.start, span.end) for span in spans)}
    for piece in _pieces({moment for both in edges for moment in both}, window, period):
        rates = [rate for rate, part in priced if part.contains(piece)]
        for each in _of_piece(lines[0].reservation_id, rates, spans, piece):
            same = made.setdefault(replace(each, window=window), [])
            if same and same[-1].window.end == each.window.start and to_seconds(each.window.start) % period:
                same[-1] = replace(each, window=Window(same[-1].window.start, each.window.end))
            else:
                same.append(each)
    for found in made.values():
        yield from found


def _of_piece(ident: str, rates: Sequence[_Rate], spans: Iterable[Span], piece: Window) -> Iterator[Charge]:
    """Yield the charges of a piece of time in which nothing changes.

    Late and missing units are the dearest ones; of the others those are used that were promised first.
    """
    became = Counter[Became]()
    for span in spans:
        if span.start <= piece.seconds[0] and piece.seconds[1] <= span.end:
            became[span.became] += span.amount
    dearest = sorted(rates, key=lambda rate: rate.hour, reverse=True)
    late = _shared(dearest, became[Became.LATE])
    lost = _shared(dearest, became[Became.LATE] + became[Became.MISSING])
    used = _shared([rate._replace(units=rate.units - lost[rate.number]) for rate in rates], became[Became.USED])
    for rate in rates:
        number = rate.number
        for kind, units, times in (
            (Kind.USED, used[number], rate.tariff.used),
            (Kind.UNUSED, rate.units - used[number], ONE),
            (Kind.LATE, late[number], -ONE),
            (Kind.MISSING, lost[number] - late[number], -ONE),
        ):
            if units:
                yield rate.charge(ident, kind, piece, units, times)


def _shared(rates: Iterable[_Rate], units: int) -> Counter[int]:
    """Return how many of these units are of each line, by its number: as many as it has, one line after the other."""
    found = Counter[int]()
    for each in rates:
        found[each.number] = min(each.units, units)
        units -= found[each.number]
    return found


def charges_of_stay(ident: str, tariff: Tariff, window: Window, period: int) -> Sequence[Charge]:
    """Return what is charged for one resource that somebody had without a promise; nothing of that was agreed."""
    return list(_at_share(Line(ident, window, 1, tariff), Kind.FILLER, ONE, window, period)) if tariff.hour else []


def _at_share(line: Line, kind: Kind, share: Decimal, window: Window, period: int) -> Iterator[Charge]:
    """Yield the charges of a line in a window at a share of its price, whatever became of it."""
    for factor, parts in line.tariff.pieces(window):
        with localcontext(EXACT):
            price = factor * line.tariff.hour * share
        for part in parts:
            for piece in _pieces(part.seconds, part, period):
                yield Charge(line.reservation_id, kind, piece, line.units, price, price, line.tariff.list_name)


def _pieces(edges: Iterable[int], window: Window, period: int) -> Iterator[Window]:
    """Yield the parts of a window between these moments, and between multiples of the period, in seconds."""
    start, end = window.seconds
    borders = range(start - start % period + period, end, period)
    for one, other in pairwise(sorted({start, end, *borders, *(each for each in edges if start < each < end)})):
        yield Window.of_seconds(one, other)
