"""What things cost, against brute force: second by second, with fractions instead of decimals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.price.model import (
    FREE,
    Goods,
    NoticeFactor,
    PriceList,
    Prices,
    Rates,
    Rule,
    TimeFactor,
    overlapping,
)
from leasehold.model.hours import Hours
from leasehold.model.properties import parse
from leasehold.model.windows import Window

BERLIN = ZoneInfo("Europe/Berlin")
SPRING = datetime(2031, 3, 28, tzinfo=UTC)
"""Two days before the clocks of Berlin leave out an hour."""
AUTUMN = datetime(2031, 10, 24, tzinfo=UTC)
"""Two days before they go back."""
STEP = 900
"""Seconds: all hours below begin and end at a quarter of an hour."""
WORDS = (
    "mon-fri 08:00-18:00",
    "sat-sun 00:00-00:00",
    "22:00-06:00",
    "sun 01:00-02:30",
    "sat 23:45-03:15",
    "thu 02:00-03:00",
)
FACTORS = st.decimals(0, 5, places=2)


def goods(resource_type: str = "physical:host", demand: dict[str, int] | None = None, **properties: str) -> Goods:
    return Goods(resource_type, properties.get, demand)


def prices(*rules: Rule, times: tuple[TimeFactor, ...] = (), notices: tuple[NoticeFactor, ...] = ()) -> PriceList:
    return PriceList("a list", SPRING, None, BERLIN, rules, times, notices)


def in_hours(words: str, moment: datetime) -> bool:
    """Say it from the clock on the wall alone."""
    return Hours.read(words).contain(moment.astimezone(BERLIN))


@given(
    start=st.sampled_from((SPRING, AUTUMN)),
    begin=st.integers(0, 96 * 4),
    length=st.integers(0, 96 * 4),
    times=st.lists(st.tuples(st.lists(st.sampled_from(WORDS[:3]), min_size=1, max_size=2), FACTORS), max_size=3),
    hour=FACTORS,
)
def test_each_quarter_of_an_hour_counts_at_the_first_factor_that_it_is_in(
    start: datetime, begin: int, length: int, times: list[tuple[list[str], Decimal]], hour: Decimal
) -> None:
    factors = tuple(TimeFactor(tuple(words), factor) for words, factor in times)
    found = prices(Rule("physical:host", Rates(hour=hour)), times=factors).tariff(goods(), timedelta(days=9))
    window = Window(start + timedelta(seconds=begin * STEP), start + timedelta(seconds=(begin + length) * STEP))
    expected = Fraction(0)
    for step in range(length):
        moment = window.start + timedelta(seconds=step * STEP)
        factor = next((one for words, one in times if any(in_hours(each, moment) for each in words)), Decimal(1))
        expected += Fraction(hour) * Fraction(factor) * STEP
    assert Fraction(found.hour_seconds(window)) == expected
    assert sum(seconds for _, seconds in found.seconds(window)) == length * STEP


@given(
    cuts=st.lists(st.integers(0, 10 * 24 * 3600), min_size=2, max_size=6, unique=True).map(sorted),
    times=st.lists(st.tuples(st.sampled_from(WORDS), FACTORS), max_size=4),
)
def test_the_parts_of_a_window_cost_together_what_all_of_it_costs(
    cuts: list[int], times: list[tuple[str, Decimal]]
) -> None:
    factors = tuple(TimeFactor((words,), factor) for words, factor in times)
    rates = Rates(hour=Decimal("0.333333"))
    found = prices(Rule("physical:host", rates), times=factors).tariff(goods(), timedelta(0))
    moments = [AUTUMN + timedelta(seconds=each) for each in cuts]
    parts = [found.hour_seconds(Window(one, other)) for one, other in pairwise(moments)]
    assert sum(parts) == found.hour_seconds(Window(moments[0], moments[-1]))


def test_the_first_rule_that_fits_counts_and_what_no_rule_fits_costs_nothing() -> None:
    gpu = Rule("physical:host", Rates(hour=Decimal(8)), condition=parse('["==", "$gpu", "A100"]', "x"))
    found = prices(gpu, Rule("physical:host", Rates(hour=Decimal(2), flat=Decimal(5))))
    one, other = (found.tariff(goods(gpu=name), timedelta(0)) for name in ("A100", "T4"))
    assert (one.hour, one.flat) == (Decimal(8), Decimal(0))
    assert (other.hour, other.flat, other.list_name) == (Decimal(2), Decimal(5), "a list")
    assert found.tariff(goods("virtual:floatingip"), timedelta(0)) == FREE


def test_a_slot_costs_what_it_has() -> None:
    rates = Rates(hour=Decimal("0.01"), vcpu_hour=Decimal("0.02"), memory_gib_hour=Decimal("0.005"))
    demand = {"VCPU": 4, "PCPU": 2, "MEMORY_MB": 1536, "DISK_GB": 100}
    assert rates.per_hour(demand) == Decimal("0.1375")


def test_the_shortest_notice_that_it_is_below_counts() -> None:
    notices = (NoticeFactor(timedelta(hours=48), Decimal("1.2")), NoticeFactor(timedelta(hours=2), Decimal("1.5")))
    found = prices(Rule("physical:host", Rates(hour=Decimal(10))), notices=notices)

    def at(hours: float) -> Decimal:
        return found.tariff(goods(), timedelta(hours=hours)).hour

    assert [at(0), at(1.999), at(2), at(47.9), at(48)] == [15, 15, 12, 12, 10]


def test_a_list_counts_by_the_moment_of_the_promise_and_not_by_the_start() -> None:
    old = PriceList("old", SPRING, AUTUMN, BERLIN, (Rule("physical:host", Rates(hour=Decimal(1))),))
    new = PriceList("new", AUTUMN, None, BERLIN, (Rule("physical:host", Rates(hour=Decimal(2))),))
    found = Prices("EUR", 2, (old, new))
    moments = (SPRING - timedelta(seconds=1), SPRING, AUTUMN - timedelta(seconds=1), AUTUMN)
    tariffs = [found.quote(goods(), moment)(timedelta(days=9)) for moment in moments]
    assert [each.list_name for each in tariffs] == ["", "old", "old", "new"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9) | st.none()), max_size=4))
def test_lists_overlap_if_a_moment_has_two(spans: list[tuple[int, int | None]]) -> None:
    lists = [
        PriceList(
            str(number),
            SPRING + timedelta(hours=start),
            None if length is None else SPRING + timedelta(hours=start + length),
            BERLIN,
            (),
        )
        for number, (start, length) in enumerate(spans)
    ]
    both = any(
        sum(start <= hour and (length is None or hour < start + length) for start, length in spans) > 1
        for hour in range(30)
    )
    assert (overlapping(lists) is not None) == both
