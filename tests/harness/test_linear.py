"""The search for one order finds each planted contradiction, and agrees with brute force about short histories."""

from __future__ import annotations

from functools import partial
from itertools import chain, combinations, permutations, product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.harness.amounts import (
    Amend,
    Answer,
    Ask,
    Create,
    Delete,
    Find,
    Free,
    Held,
    Request,
    Show,
    Taken,
    apart,
    deletion,
    reads,
    step,
    unexplained,
)
from tests.harness.linear import NEVER, Stuck, UndecidedError, explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOM = 2
ONE, BOTH = Held(0, 1), Held(0, 2)
YES, NO, ABSENT, NONE = Answer.GRANTED, Answer.REFUSED, Answer.ABSENT, Answer.NONE


def one_after_the_other(*told: tuple[Ask, object]) -> list[Request]:
    return [Request(ask, answer, 2.0 * place, 2.0 * place + 1) for place, (ask, answer) in enumerate(told)]


def at_once(*told: tuple[Ask, object]) -> list[Request]:
    return [Request(ask, answer, 0.0, 1.0) for ask, answer in told]


GOOD = {
    "nothing": [],
    "a refusal when all is taken": one_after_the_other((Create("a", BOTH), YES), (Create("b", ONE), NO)),
    "room again after a deletion": one_after_the_other(
        (Create("a", BOTH), YES), (Delete("a"), YES), (Create("b", BOTH), YES), (Show("a"), ABSENT)
    ),
    "room again after an amendment": one_after_the_other(
        (Create("a", BOTH), YES), (Amend("a", amount=1), YES), (Create("b", ONE), YES), (Free(0), 0)
    ),
    "the later of two that compete": at_once((Create("a", BOTH), NO), (Create("b", BOTH), YES)),
    "a read before or after what it overlaps": [
        *at_once((Create("a", ONE), YES), (Free(0), 2), (Free(0), 1)),
        *at_once((Show("a"), ABSENT), (Show("a"), ONE)),
    ],
    "a deletion that comes first": at_once((Create("b", BOTH), YES), (Delete("a"), YES), (Create("a", BOTH), YES)),
    "one without an answer that was done": [
        Request(Create("a", BOTH), NONE, 0.0),
        *one_after_the_other((Free(0), 2), (Free(0), 0), (Create("b", ONE), NO)),
    ],
    "one without an answer that was not done": [
        Request(Create("a", BOTH), NONE, 0.0),
        *one_after_the_other((Create("b", BOTH), YES), (Show("a"), ABSENT)),
    ],
    "one without an answer that was refused": [
        *one_after_the_other((Create("a", BOTH), YES)),
        Request(Create("b", ONE), NONE, 1.5),
    ],
    "another hour": one_after_the_other(
        (Create("a", BOTH), YES), (Amend("a", hour=1), YES), (Create("b", BOTH), YES), (Show("a"), Held(1, 2))
    ),
    "two deletions of one lease at once, and one after them": [
        *one_after_the_other((Create("a", ONE), YES)),
        *deletion("a", YES, 2.0, 4.0),
        *deletion("a", YES, 3.0, 5.0),
        *deletion("a", ABSENT, 6.0, 7.0),
        *deletion("a", NONE, 6.0),
    ],
    "a change that finds all as it shall be, or undoes another one": [
        *one_after_the_other((Create("a", ONE), YES)),
        *(Request(Amend("a", amount=amount), YES, 2.0, 3.0) for amount in (1, 2)),
        Request(Show("a"), ONE, 4.0, 5.0),
    ],
    "two changes of one lease": [
        *one_after_the_other((Create("a", ONE), YES)),
        *(Request(Amend("a", **new), YES, 2.0, 3.0) for new in ({"hour": 1}, {"amount": 2})),
        Request(Show("a"), Held(1, 2), 4.0, 5.0),
    ],
}
BAD = {
    "a double grant": at_once((Create("a", BOTH), YES), (Create("b", ONE), YES)),
    "a refusal with room": one_after_the_other((Create("a", ONE), YES), (Create("b", ONE), NO)),
    "a refusal after room was given back": one_after_the_other(
        (Create("a", BOTH), YES), (Delete("a"), YES), (Create("b", ONE), NO)
    ),
    "a stale read": one_after_the_other((Create("a", ONE), YES), (Free(0), 2)),
    "a stale read of a lease": one_after_the_other(
        (Create("a", ONE), YES), (Amend("a", amount=2), YES), (Show("a"), ONE)
    ),
    "a read that goes back": [
        Request(Create("a", ONE), YES, 0.0, 9.0),
        *one_after_the_other((Show("a"), ONE), (Show("a"), ABSENT)),
    ],
    "a lost update": [
        *one_after_the_other((Create("a", ONE), YES)),
        *(Request(Amend("a", **new), YES, 2.0, 3.0) for new in ({"hour": 1}, {"amount": 2})),
        Request(Show("a"), Held(1, 1), 4.0, 5.0),
    ],
    "an amendment beyond what is there": one_after_the_other((Create("a", ONE), YES), (Amend("a", amount=3), YES)),
    "an amendment that is refused with room": one_after_the_other((Create("a", ONE), YES), (Amend("a", amount=2), NO)),
    "one that was deleted, and is there": one_after_the_other(
        (Create("a", ONE), YES), (Delete("a"), YES), (Show("a"), ONE)
    ),
    "two deletions of one lease, one after the other": [
        *one_after_the_other((Create("a", ONE), YES)),
        *deletion("a", YES, 2.0, 3.0),
        *deletion("a", YES, 4.0, 5.0),
    ],
    "a lease that a deletion does not find": [
        *one_after_the_other((Create("a", ONE), YES)),
        *deletion("a", ABSENT, 2.0, 3.0),
    ],
    "one without an answer that was done and undone": [
        Request(Create("a", BOTH), NONE, 0.0),
        *one_after_the_other((Free(0), 0), (Free(0), 2)),
    ],
    "one without an answer that is done before it is sent": [
        *one_after_the_other((Free(0), 0)),
        Request(Create("a", BOTH), NONE, 5.0),
    ],
    "a grant of which a half is there": one_after_the_other((Create("a", BOTH), YES), (Free(0), 1)),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_history_that_one_order_explains_is_accepted(name: str) -> None:
    assert unexplained(GOOD[name], ROOM) is None


@pytest.mark.parametrize("name", BAD)
def test_a_planted_contradiction_is_found(name: str) -> None:
    assert unexplained(BAD[name], ROOM) is not None


def test_where_it_is_stuck_is_told() -> None:
    first, second, third = one_after_the_other((Create("a", BOTH), YES), (Free(0), 0), (Create("b", ONE), YES))
    stuck = unexplained([third, second, first], ROOM)
    assert stuck == Stuck([first, second], [third])
    assert "Create(name='b'" in str(stuck)
    assert str(stuck).index("Free(hour=0) was told: 0") < str(stuck).index("Then none of these:")


def test_it_gives_up_after_so_many_states() -> None:
    asked = [Request(Create(str(number), Held(0, 0)), NONE, 0.0) for number in range(12)]
    with pytest.raises(UndecidedError, match="13 operations"):
        explain([*asked, Request(Free(0), 7, 0.0, 1.0)], Taken(), partial(step, ROOM), reads, most=100)


def test_what_has_nothing_in_common_is_looked_at_apart() -> None:
    asked = at_once(
        (Create("a", ONE), YES),
        (Create("b", Held(1, 1)), YES),
        (Show("a"), ONE),
        (Free(1), 1),
        (Create("c", Held(2, 1)), YES),
        (Amend("c", hour=1), YES),
    )
    assert sorted(map(len, apart(asked))) == [2, 4]


@pytest.mark.slow
def test_a_long_history_of_many_clients_is_decided() -> None:
    """In each of twenty rounds, twenty clients create, amend and delete at once, and half of them are refused."""
    clients, asked = 20, []
    for turn, client in product(range(20), range(clients)):
        name, begin = f"{client} {turn}", 3.0 * turn
        if client % 2:
            asked.append(Request(Create(name, Held(0, 3)), NO, begin + 1, begin + 2))
            continue
        asked += [
            Request(Create(name, Held(0, 2)), YES, begin, begin + 0.9),
            Request(Amend(name, amount=1), YES, begin + 2, begin + 2.5),
            Request(Delete(name), YES, begin + 2.2, begin + 2.9),
        ]
    assert unexplained(asked, clients) is None


# ---------------------------------------------------------------- against brute force

HELD = st.builds(Held, st.integers(0, 1), st.integers(1, 2))
NAMES = st.sampled_from("ab")
ASKS: st.SearchStrategy[Ask] = st.one_of(
    st.builds(Amend, NAMES, st.none() | st.integers(0, 1), st.none() | st.integers(1, 3)),
    st.builds(Delete, NAMES),
    st.builds(Find, NAMES),
    st.builds(Show, NAMES),
    st.builds(Free, st.integers(0, 1)),
)
ANSWERS: st.SearchStrategy[object] = st.one_of(st.sampled_from(Answer), HELD, st.integers(0, 2))


@st.composite
def histories(draw: st.DrawFn) -> list[Request]:
    """Draw a short history: the right answers of some order, and sometimes another answer or none."""
    asks: list[Ask] = [*(Create(name, draw(HELD)) for name in "ab"), *draw(st.lists(ASKS, max_size=4))]
    found, taken = [], Taken()
    for place, ask in enumerate(draw(st.permutations(asks))):
        answer, taken = ask.answered(taken, ROOM)
        start, end = place - draw(st.integers(0, 3)), place + draw(st.integers(0, 3))
        if draw(st.integers(0, 4)) == 0:
            answer = draw(ANSWERS)
        # A unit in the middle, so that no two moments of different requests are the same by accident.
        found.append(Request(ask, answer, start, NEVER if answer is NONE else end + 0.5))
    return found


def by_brute_force(requests: Sequence[Request]) -> bool:
    """Say whether one of all orders explains the answers, with some of those that have none, or without."""
    unsure = [each for each in requests if each.end == NEVER]
    sure = [each for each in requests if each.end < NEVER]
    some = chain.from_iterable(combinations(unsure, count) for count in range(len(unsure) + 1))
    return any(_explained(order) for also in some for order in permutations([*sure, *also]))


def _explained(order: Iterable[Request]) -> bool:
    taken: Any = Taken()
    latest = -NEVER
    for each in order:
        if each.end < latest:
            return False
        latest, taken = max(latest, each.start), step(ROOM, taken, each)
        if taken is None:
            return False
    return True


@given(histories())
@example(BAD["a lost update"])
@example(GOOD["a deletion that comes first"])
@example(GOOD["a change that finds all as it shall be, or undoes another one"])
@example(GOOD["a read before or after what it overlaps"])
def test_it_agrees_with_brute_force(requests: list[Request]) -> None:
    assert (unexplained(requests, ROOM) is None) == by_brute_force(requests)
