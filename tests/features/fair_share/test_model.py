"""Idea 9: decayed use against a sum second by second, and the order of Slurm's own test of Fair Tree."""

from __future__ import annotations

from itertools import pairwise
from math import exp2, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.fair_share.model import WHOLE, Held, Use, added, decayed, level
from leasehold.features.fair_share.options import FairShareSettings
from leasehold.features.fair_share.order import ByUse
from tests.unit.leasing.test_waiting_order import line

NOW = 1_000_000
HALF_LIFE = 3_600.0
SPANS = st.lists(
    st.builds(
        lambda project, user, units, begin, lasts: Held(project, user, units, NOW - begin, NOW - max(begin - lasts, 0)),
        st.sampled_from("pq"),
        st.sampled_from("ab"),
        st.integers(1, 5).map(float),
        st.integers(1, 9_000),
        st.integers(0, 400),
    ),
    max_size=8,
)


def by_second(held: Held, moment: int, half_life: float) -> float:
    """Return the use at a moment, each second by its middle."""
    seconds = range(held.start, held.end)
    return held.units * sum(exp2((second + 0.5 - moment) / half_life) for second in seconds)


@given(SPANS, st.integers(0, 5_000))
def test_the_integral_is_the_sum_of_all_seconds(spans: list[Held], later: int) -> None:
    for each in spans:
        wanted = by_second(each, NOW + later, HALF_LIFE)
        assert decayed(each, NOW + later, HALF_LIFE) == pytest.approx(wanted, rel=1e-6)


def test_what_was_held_a_half_life_ago_counts_half() -> None:
    now, before = Held("p", "a", 3, NOW - 60, NOW), Held("p", "a", 3, NOW - 60 - 3_600, NOW - 3_600)
    assert decayed(before, NOW, HALF_LIFE) == pytest.approx(decayed(now, NOW, HALF_LIFE) / 2)
    assert decayed(now, NOW, 1e9) == pytest.approx(180), "nothing is forgotten within a long half-life"
    assert Use(8.0, NOW).then(NOW + 7_200, HALF_LIFE) == pytest.approx(2)


@given(SPANS, st.lists(st.integers(0, 9_000), max_size=5))
def test_counting_in_steps_is_counting_at_once(spans: list[Held], cuts: list[int]) -> None:
    borders = sorted({NOW - 9_000, *(NOW - each for each in cuts), NOW})
    uses: dict[tuple[str, str], Use] = {}
    for since, until in pairwise(borders):
        parts = [
            Held(each.project_id, each.user_id, each.units, max(each.start, since), min(each.end, until))
            for each in spans
            if each.end > since and each.start < until and max(each.start, since) < min(each.end, until)
        ]
        uses |= added(uses, parts, until, HALF_LIFE)
    for key in {(each.project_id, user) for each in spans for user in (each.user_id, WHOLE)}:
        mine = [each for each in spans if key in ((each.project_id, each.user_id), (each.project_id, WHOLE))]
        wanted = sum(by_second(each, NOW, HALF_LIFE) for each in mine)
        found = uses[key].then(NOW, HALF_LIFE) if key in uses else 0.0
        assert found == pytest.approx(wanted, rel=1e-6)


def order(shares: dict[str, float], uses: dict[tuple[str, str], float]) -> ByUse:
    whole: dict[tuple[str, str], float] = {}
    for (project, _), used in uses.items():
        whole[project, WHOLE] = whole.get((project, WHOLE), 0.0) + used
    return ByUse(FairShareSettings(shares=shares), uses | whole)


def ranks(by_use: ByUse, users: list[tuple[str, str]]) -> list[set[tuple[str, str]]]:
    """Return users by their rank, those together that tie."""
    found: dict[tuple[float, float], set[tuple[str, str]]] = {}
    for each in users:
        found.setdefault(by_use.levels(*each), set()).add(each)
    return [found[each] for each in sorted(found, reverse=True)]


# Slurm's own test of Fair Tree (testsuite/expect/test24.4): accounts below its root and their users, with raw shares
# and raw usage. Accounts below these count as users here.
SHARES = {
    "aA": 40,
    "aA/aAA": 30,
    "aA/aAB": 10,
    "aB": 60,
    "aB/aBA": 25,
    "aB/aBB": 35,
    "aC": 0,
    "aC/uC1": 0,
    "aE": 10,
    "aE/aE1": 10,
    "aE/aE2": 10,
    "aF": 20,
    "aF/uF1": 10,
    "aF/uF2": 20,
    "aG": 8,
    "aG/uG1": 10,
    "aG/aGA": 10,
}
USAGE = {
    ("aA", "aAA"): 20.0,
    ("aA", "aAB"): 25.0,
    ("aB", "aBA"): 25.0,
    ("aB", "aBB"): 0.0,
    ("aC", "uC1"): 30.0,
    ("aE", "aE1"): 0.0,
    ("aE", "aE2"): 0.0,
    ("aF", "uF1"): 0.0,
    ("aF", "uF2"): 0.0,
    ("aG", "uG1"): 10.0,
    ("aG", "aGA"): 10.0,
}


def test_slurms_example_has_slurms_order() -> None:
    """Fairshare there: 1.0 for all of aE and aF; aBB .76, aBA .71, aAA .62, aAB .57 and .52, aG .19, aC .05."""
    found = ranks(order(dict(SHARES), dict(USAGE)), list(USAGE))
    assert found == [
        {("aE", "aE1"), ("aE", "aE2"), ("aF", "uF1"), ("aF", "uF2")},
        {("aB", "aBB")},
        {("aB", "aBA")},
        {("aA", "aAA")},
        {("aA", "aAB")},
        {("aG", "uG1"), ("aG", "aGA")},
        {("aC", "uC1")},
    ]


@pytest.mark.parametrize(
    ("share", "use", "printed"),
    [(40, 45, 1.025641), (60, 25, 2.769231), (50, 110, 0.524476), (8, 20, 0.461538), (10, 10, 1.153846), (0, 30, 0.0)],
)
def test_levels_are_slurms_but_for_what_all_siblings_have_in_common(share: float, use: float, printed: float) -> None:
    """Slurm divides shares and usage by the sums over all siblings, 208 and 240 there: no order depends on it."""
    assert level(share, use) * 240 / 208 == pytest.approx(printed, abs=1e-6)
    assert level(share, 0.0) == inf


def test_users_of_projects_that_tie_are_siblings() -> None:
    """As in Slurm, where the lists of accounts that tie are merged; these are the figures of flux-accounting's test."""
    shares, uses = {"1": 1000.0, "2": 100.0, "3": 10000.0}, dict[tuple[str, str], float]()
    for project, most in (("1", 100.0), ("2", 10.0), ("3", 1000.0)):
        for user, share, use in (("1", 10_000, most), ("2", 1_000, most / 10), ("3", 100_000, most / 10)):
            shares[f"{project}/{user}"], uses[project, user] = share, use
    assert ranks(order(shares, uses), list(uses)) == [
        {(project, "3") for project in "123"},
        {(project, user) for project in "123" for user in "12"},
    ]


USES = st.dictionaries(st.tuples(st.sampled_from("pqr"), st.just("u")), st.floats(0, 1e9), max_size=3)


@given(USES, st.lists(st.sampled_from("pqr"), max_size=10), st.floats(1e-3, 1e3), st.sampled_from("pqr"))
def test_who_has_used_more_never_moves_ahead(
    uses: dict[tuple[str, str], float], projects: list[str], more: float, who: str
) -> None:
    leases = line(projects)

    def places(by_use: ByUse) -> list[int]:
        return [number for number, each in enumerate(by_use.ranked(leases)) if each.project_id == who]

    grown = {**uses, (who, "u"): uses.get((who, "u"), 0.0) + more}
    assert all(a <= b for a, b in zip(places(order({}, uses)), places(order({}, grown)), strict=True))


@given(USES, st.lists(st.sampled_from("pqr"), max_size=10))
def test_the_order_is_total_and_stable(uses: dict[tuple[str, str], float], projects: list[str]) -> None:
    leases, by_use = line(projects), order({}, uses)
    found = by_use.ranked(leases)
    assert sorted(each.id for each in found) == sorted(each.id for each in leases)
    assert by_use.ranked(found) == found
    for first, second in pairwise(found):
        mine, theirs = (by_use.levels(each.project_id, "u") for each in (first, second))
        assert mine >= theirs
        assert mine > theirs or first.waiting.since < second.waiting.since
