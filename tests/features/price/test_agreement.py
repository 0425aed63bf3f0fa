"""Agreements against brute force: a stack of tariffs for each minute, which a change cuts and puts more on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.price.agreement import NO_AGREEMENT, Has, amount, renewed
from leasehold.features.price.model import FREE, Tariff
from leasehold.features.price.store import read_terms, write_terms
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable

BEGIN = datetime(2031, 5, 1, 9, tzinfo=UTC)
MINUTES = 24


def tariff(number: int) -> Tariff:
    """Return a tariff that differs from all others: the sums say which there are."""
    hour = Decimal(60) * Decimal(10) ** (number % 8)
    return Tariff(f"list {number}", hour, ZoneInfo("UTC"), flat=Decimal(number), given_up=Decimal("0.25"))


def quote(number: int) -> Callable[[timedelta], Tariff]:
    return lambda _: tariff(number)


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


UNITS = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 2)), max_size=3)
CHANGES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, MINUTES), st.integers(0, MINUTES), UNITS), min_size=1, max_size=6
)


@given(CHANGES)
def test_what_is_left_keeps_its_tariff_and_what_is_added_gets_that_of_its_moment(
    changes: list[tuple[int, int, int, list[tuple[int, int]]]],
) -> None:
    found, now = NO_AGREEMENT, 0
    stacks: list[list[int]] = [[] for _ in range(MINUTES)]
    flats, given_up, most = Decimal(0), Decimal(0), 0
    for pause, one, other, units in changes:
        now = min(now + pause, MINUTES)
        start, end = sorted((one, other))
        has = Has("part", Window(at(start), at(end)), [(quote(number), count) for number, count in units])
        found = renewed(found, [has], at(now))
        every = [number for number, count in reversed(units) for _ in range(count)]
        added = False
        for minute in range(now, MINUTES):
            wanted = len(every) if start <= minute < end else 0
            given_up += sum((tariff(number).hour / 240 for number in stacks[minute][wanted:]), Decimal(0))
            more = every[: max(0, wanted - len(stacks[minute]))]
            added = added or bool(more)
            stacks[minute] = stacks[minute][:wanted] + more
        flats += sum(every[: max(0, len(every) - most)]) if added else 0
        most = max(map(len, stacks))
        for minute in range(MINUTES):
            cost = sum((each.hour_seconds(Window(at(minute), at(minute + 1))) for each in found.lines), Decimal(0))
            assert cost / 3600 == sum(Decimal(10) ** (number % 8) for number in stacks[minute])
        assert (
            sum((each.hour_seconds() * each.tariff.given_up for each in found.given_up), Decimal(0)) == given_up * 3600
        )
        assert sum(each.amount for each in found.once) / 3600 == flats
        assert read_terms(write_terms(found)) == found


@given(CHANGES)
def test_what_has_elapsed_never_changes(changes: list[tuple[int, int, int, list[tuple[int, int]]]]) -> None:
    found, now = NO_AGREEMENT, 0
    for pause, one, other, units in changes:
        now += pause
        start, end = sorted((one, other))
        past = Window(BEGIN, at(now))
        before = sum((each.hour_seconds(past) for each in found.lines), Decimal(0))
        has = Has("part", Window(at(start), at(end)), [(quote(number), count) for number, count in units])
        found = renewed(found, [has], at(now))
        assert sum((each.hour_seconds(past) for each in found.lines), Decimal(0)) == before


def test_a_change_of_nothing_changes_nothing() -> None:
    has = Has("part", Window(at(3), at(9)), [(quote(3), 2), (quote(4), 1)])
    first = renewed(NO_AGREEMENT, [has], BEGIN)
    assert len(first.lines) == 2
    again = Has("part", has.window, [(quote(5), 3)])
    assert renewed(first, [again], at(5)) == first


def test_what_was_promised_for_nothing_stays_free() -> None:
    first = renewed(NO_AGREEMENT, [Has("part", Window(at(3), at(9)), [(lambda _: FREE, 2)])], BEGIN)
    found = renewed(first, [Has("part", Window(at(3), at(12)), [(quote(4), 2)])], at(5))
    assert [(each.window, each.tariff) for each in found.lines] == [
        (Window(at(3), at(9)), FREE),
        (Window(at(9), at(12)), tariff(4)),
    ]
    assert found.hour_seconds() == 2 * tariff(4).hour_seconds(Window(at(9), at(12)))


def test_an_operator_takes_something_back_for_nothing() -> None:
    first = renewed(NO_AGREEMENT, [Has("part", Window(at(3), at(9)), [(quote(3), 2)])], BEGIN)
    assert not renewed(first, [], at(4), free=True).given_up
    assert [(each.window, each.units) for each in renewed(first, [], at(4)).given_up] == [(Window(at(4), at(9)), 2)]


def test_an_amount_is_rounded_once() -> None:
    third = Decimal("0.01") * 1200
    assert amount(Decimal(0), 2) == Decimal("0.00")
    assert amount(third, 2) == Decimal("0.00")
    assert amount(third * 3, 2) == Decimal("0.01")
    assert str(amount(Decimal("2.5") * 3600, 2)) == "2.50"
