"""Laws of the pure half on random histories, against an oracle that counts second by second."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.features.usage.model import FOR_EVER, Loss, LostSpan, Terms, Use, account, observed

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST = Terms("r", "l", "p", "u", "physical:host", amount=3, missing=0, starts_at=10, ends_at=30, told_at=0)
HORIZON = 60


@st.composite
def histories(draw: st.DrawFn) -> list[Terms]:
    """Return what the events of a reservation say, in order; its start stays where it is."""
    told = [replace(FIRST, amount=draw(st.integers(1, 4)), ends_at=draw(st.integers(10, 40)))]
    moments = draw(st.lists(st.integers(0, 45), min_size=1, max_size=8))
    for moment in sorted(moments):
        last = told[-1]
        amount = draw(st.integers(1, 4))
        told.append(
            replace(
                last,
                told_at=moment,
                amount=amount,
                missing=draw(st.integers(0, amount)),
                ends_at=draw(st.one_of(st.just(last.ends_at), st.integers(max(10, min(moment, 40)), 45))),
                delivered_at=moment if last.delivered_at is not None or draw(st.booleans()) else None,
                over_at=moment if draw(st.integers(0, 5)) == 5 else None,
            )
        )
    return told


def accounted(told: Sequence[Terms]) -> tuple[Terms, list[LostSpan]]:
    known, lost = account(None, told[0])
    for each in told[1:]:
        known, spans = account(known, each)
        lost += spans
    return known, lost


def by_second(lost: Sequence[LostSpan]) -> Counter[tuple[Loss, int]]:
    found: Counter[tuple[Loss, int]] = Counter()
    for each in lost:
        assert each.amount > 0
        assert each.starts_at < each.ends_at
        for second in range(each.starts_at, each.ends_at):
            found[each.state, second] += each.amount
    return found


def of(terms: Terms, second: int) -> int:
    """Return how much is promised in a second."""
    return terms.amount if terms.over_at is None and terms.starts_at <= second < terms.ends_at else 0


def oracle(told: Sequence[Terms], until: int) -> tuple[Counter[tuple[Loss, int]], int, int]:
    """Return what was lost by second, how many unit-seconds were ever promised, and how many of them were active."""
    lost: Counter[tuple[Loss, int]] = Counter()
    known, left = told[0], list(told[1:])
    promised, active = sum(of(known, second) for second in range(HORIZON)), 0
    for now in range(until):
        while left and left[0].told_at == now:
            after = left.pop(0)
            if known.over_at is not None:
                continue
            after = replace(after, delivered_at=known.delivered_at or after.delivered_at)
            for second in range(now, HORIZON):
                change = of(after, second) - of(known, second)
                promised += max(0, change)
                if change < 0:
                    lost[Loss.GIVEN_UP, second] -= change
            known = after
        missing = min(known.missing, of(known, now))
        here = of(known, now) - missing
        lost[Loss.MISSING, now] += missing
        lost[Loss.LATE, now] += here if known.delivered_at is None else 0
        active += 0 if known.delivered_at is None else here
    return +lost, promised, active


@settings(max_examples=400)
@given(histories())
def test_the_states_of_a_reservation_tile_its_promises_to_the_second(told: list[Terms]) -> None:
    end = replace(told[-1], told_at=HORIZON, over_at=HORIZON)
    _, lost = accounted([*told, end])
    expected, promised, active = oracle([*told, end], HORIZON)
    found = by_second(lost)
    assert found == expected
    assert found.total() + active == promised


@given(histories(), st.data())
def test_a_history_that_is_read_in_parts_says_the_same(told: list[Terms], data: st.DataObject) -> None:
    """An event that tells nothing new changes no second, wherever it comes."""
    at = data.draw(st.integers(0, len(told) - 1))
    last = told[at]
    until = told[at + 1].told_at if at + 1 < len(told) else HORIZON
    again = replace(last, told_at=data.draw(st.integers(last.told_at, until)))
    end = replace(told[-1], told_at=HORIZON, over_at=HORIZON)
    _, once = accounted([*told, end])
    _, twice = accounted([*told[: at + 1], again, *told[at + 1 :], end])
    assert by_second(once) == by_second(twice)


def test_a_promise_that_moves_as_a_whole_is_the_same_and_only_what_it_is_shorter_is_given_up() -> None:
    for start in (2, 5, 15, 40):
        known, lost = account(FIRST, replace(FIRST, told_at=1, starts_at=start, ends_at=start + 20))
        assert (known.starts_at, lost) == (start, [])
    _, lost = account(FIRST, replace(FIRST, told_at=1, starts_at=15, ends_at=25))
    assert lost == [LostSpan(Loss.GIVEN_UP, 3, 20, 30)]


def test_what_is_over_stays_over_and_what_was_never_known_loses_nothing() -> None:
    over = replace(FIRST, told_at=12, over_at=12)
    known, lost = account(FIRST, over)
    assert known == replace(FIRST, told_at=12, ends_at=12, over_at=12)
    assert lost == [LostSpan(Loss.LATE, 3, 10, 12), LostSpan(Loss.GIVEN_UP, 3, 12, 30)]
    assert account(known, replace(FIRST, told_at=20)) == (known, [])
    assert account(None, over)[1] == []


def test_nothing_is_given_up_of_what_was_taken_back_or_has_no_end() -> None:
    shorter = replace(FIRST, told_at=5, ends_at=20)
    assert account(FIRST, shorter, owner_chose=False)[1] == []
    endless = replace(FIRST, ends_at=FOR_EVER)
    assert account(endless, replace(endless, told_at=5, over_at=5))[1] == []


# ---------------------------------------------------------------- what is used

POLLS = st.lists(st.tuples(st.sampled_from([1, 10, 20, 25, 26, 40]), st.integers(0, 3)), max_size=12)
FARTHEST = 25


@given(POLLS)
def test_between_two_polls_what_both_have_found_was_used(polls: list[tuple[int, int]]) -> None:
    moment, going_on, rows = 100, None, dict[int, Use]()
    seen: list[tuple[int, int]] = []
    for pause, amount in polls:
        moment += pause
        seen.append((moment, amount))
        for use in observed(going_on, amount, moment, FARTHEST):
            key = len(rows) if use.id is None else use.id
            rows[key] = replace(use, id=key)
        open_ones = [each for each in rows.values() if each.seen_at is not None]
        assert len(open_ones) == (amount > 0)
        going_on = open_ones[0] if open_ones else None
    used = sum(each.amount * (each.ends_at - each.starts_at) for each in rows.values())
    both = (min(was, now) * (then - since) for (since, was), (then, now) in pairwise(seen) if then - since <= FARTHEST)
    assert used == sum(both)
    assert bool(rows) == any(amount for _, amount in seen)
    spans = sorted((each.starts_at, each.ends_at) for each in rows.values())
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
