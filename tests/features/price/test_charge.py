"""Charges against brute force: each minute, each unit by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.price.agreement import Agreement, Line, Once, placed
from leasehold.features.price.charge import Charge, Kind, charges
from leasehold.features.price.model import Tariff, TimeFactor
from leasehold.leasing.record import Became, Span
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BEGIN = datetime(2031, 5, 1, 9, tzinfo=UTC)
MINUTES = 24
PERIOD = 600
NIGHT = TimeFactor(("mon-sun 09:10-09:15",), Decimal("0.5"))


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


def within(numbers: tuple[int, int]) -> Window:
    start, end = sorted(numbers)
    return Window(at(start), at(end))


MOMENTS = st.tuples(st.integers(0, MINUTES), st.integers(0, MINUTES))
TARIFFS = st.builds(
    lambda hour, used, night: Tariff(
        "2031", Decimal(hour) * 60, ZoneInfo("UTC"), (NIGHT,) if night else (), Decimal(used) / 2
    ),
    st.integers(1, 6),
    st.integers(0, 4),
    st.booleans(),
)
LINES = st.lists(
    st.builds(
        lambda moments, units, tariff: Line("part", within(moments), units, tariff), MOMENTS, st.integers(1, 3), TARIFFS
    ),
    min_size=1,
    max_size=4,
).map(lambda lines: [each for each in lines if each.window.start < each.window.end])
SPANS = st.lists(
    st.builds(
        lambda became, amount, moments: Span("part", became, amount, *within(moments).seconds),
        st.sampled_from(Became),
        st.integers(1, 3),
        MOMENTS,
    ),
    max_size=5,
)


def charged(lines: Sequence[Line], spans: Sequence[Span], window: Window) -> list[Charge]:
    return charges(Agreement(tuple(lines)), {"part": spans}, window, PERIOD)


def cost(found: Iterable[Charge], minute: int) -> Decimal:
    """Return what charges take for a minute; prices of an hour are sixty times whole numbers or halves."""
    return sum(
        (each.units * each.price / 60 for each in found if each.window.start <= at(minute) < each.window.end),
        Decimal(0),
    )


def brute(lines: Sequence[Line], spans: Sequence[Span], minute: int) -> tuple[Decimal, Decimal]:
    """Return what a minute costs, and what was agreed."""
    moment, became = to_seconds(at(minute)), dict.fromkeys(Became, 0)
    for span in spans:
        if span.start <= moment < span.end:
            became[span.became] += span.amount
    units = [
        (each.tariff.hour * (Decimal("0.5") if each.tariff.times and 10 <= minute < 15 else 1) / 60, each.tariff.used)
        for each in lines
        if each.window.start <= at(minute) < each.window.end
        for _ in range(each.units)
    ]
    agreed = sum((price * max(Decimal(1), used) for price, used in units), Decimal(0))
    for _ in range(min(len(units), became[Became.LATE] + became[Became.MISSING])):
        # The first of the dearest: what was promised first is credited first.
        units.remove(max(units, key=lambda unit: unit[0]))
    using = became[Became.USED]
    total = sum((price * used for price, used in units[:using]), Decimal(0))
    return total + sum((price for price, _ in units[using:]), Decimal(0)), agreed


@given(LINES, SPANS)
def test_each_unit_costs_what_was_agreed_for_what_became_of_it(lines: list[Line], spans: list[Span]) -> None:
    found = charged(lines, spans, Window(at(0), at(MINUTES)))
    for minute in range(MINUTES):
        expected, agreed = brute(lines, spans, minute)
        assert cost(found, minute) == expected
        assert 0 <= expected <= agreed
        minutes = Window(at(minute), at(minute + 1))
        assert sum(each.beside(minutes) for each in found) == (expected - agreed) * 10**6


@given(LINES, SPANS, st.integers(0, MINUTES))
def test_windows_in_a_row_add_up(lines: list[Line], spans: list[Span], border: int) -> None:
    whole = charged(lines, spans, Window(at(0), at(MINUTES)))
    parts = [*charged(lines, spans, Window(at(0), at(border))), *charged(lines, spans, Window(at(border), at(MINUTES)))]
    assert all(cost(whole, minute) == cost(parts, minute) for minute in range(MINUTES))
    assert sum(each.amount for each in whole) == sum(each.amount for each in parts)


@given(LINES, SPANS)
def test_no_charge_reaches_beyond_a_period(lines: list[Line], spans: list[Span]) -> None:
    for each in charged(lines, spans, Window(at(0), at(MINUTES))):
        start, end = each.window.seconds
        assert start < end
        assert start // PERIOD == (end - 1) // PERIOD
        assert (each.price < 0) == (each.kind in (Kind.LATE, Kind.MISSING))


def test_what_is_given_up_and_what_is_paid_once() -> None:
    tariff = Tariff("2031", Decimal(60), ZoneInfo("UTC"), given_up=Decimal("0.25"))
    agreed = Agreement(
        given_up=(Line("part", Window(at(5), at(15)), 2, tariff),),
        once=(Once("part", at(3), Decimal(7 * 3600)), Once("part", at(20), Decimal(3600))),
    )
    first = charges(agreed, {}, Window(at(0), at(12)), PERIOD)
    assert [(each.kind, each.amount) for each in first] == [
        (Kind.GIVEN_UP, 2_500_000),
        (Kind.GIVEN_UP, 1_000_000),
        (Kind.FLAT, 7_000_000),
    ]
    assert all(each.beside() == 0 for each in first)
    rest = charges(agreed, {}, Window(at(12), at(30)), PERIOD)
    assert [(each.kind, each.amount) for each in rest] == [(Kind.GIVEN_UP, 1_500_000), (Kind.FLAT, 1_000_000)]


def test_an_agreement_begins_with_its_lease_that_was_moved() -> None:
    tariff = Tariff("2031", Decimal(60), ZoneInfo("UTC"))
    agreed = Agreement((Line("part", Window(at(5), at(10)), 1, tariff), Line("part", Window(at(7), at(10)), 1, tariff)))
    assert placed(agreed, at(5)) == agreed
    assert [each.window for each in placed(agreed, at(2)).lines] == [Window(at(2), at(7)), Window(at(4), at(7))]
    assert [each.window for each in placed(agreed, at(8)).lines] == [Window(at(8), at(13)), Window(at(10), at(13))]
    # What was promised from now on began within the minute.
    assert placed(agreed, at(5) - timedelta(seconds=30)) == agreed
