"""The placement of slots, compared with brute force: it never exceeds the room, and finds a placement if one exists."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.search import SlotSpread
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError
from leasehold.model.windows import EPOCH, Window, from_seconds
from leasehold.resource_types.kind import Search
from leasehold.resource_types.layout import Layout
from leasehold.resource_types.slots.placing import Way, explain, place
from tests.unit.calendar.oracle import Oracle, latest
from tests.unit.calendar.strategies import allocations, demands, moments, pools
from tests.unit.resource_types.pool import host, placed, pool_of, search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.model.resource import Resource

pytestmark = pytest.mark.slow

MOST = 3


def allowed(slots: Sequence[int], spread: SlotSpread) -> bool:
    """Return whether a placement, as one count of slots per host, obeys the spread."""
    match spread:
        case SlotSpread.ANY:
            return True
        case SlotSpread.ONE_HOST:
            return sum(count > 0 for count in slots) <= 1
        case SlotSpread.DISTINCT_HOSTS:
            return max(slots, default=0) <= 1


def all_ways(room: Sequence[int], spread: SlotSpread, least: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return one allowed placement for each amount that can be placed, by brute force."""
    ranges = (range(low, min(high, MOST) + 1) for low, high in zip(least, room, strict=True))
    return {sum(slots): slots for slots in product(*ranges) if allowed(slots, spread)}


class Case:
    """A pool with allocations, and a request for slots whose reservation may hold some: pending, or in use (`firm`)."""

    def __init__(self, data: st.DataObject, most_held: int, *, firm: bool) -> None:
        pool: list[Resource] = sorted(data.draw(pools()), key=lambda each: each.number)
        rows = data.draw(allocations(pool, most=6))
        self.demand = data.draw(demands)
        self.spread = data.draw(st.sampled_from(SlotSpread))
        self.amount = data.draw(st.integers(1, MOST))
        start = data.draw(moments)
        end = start + data.draw(st.integers(1, 12))
        margin = data.draw(st.sampled_from([0, 0, 2]))
        self.numbers = [each.number for each in pool]
        self.mine = [data.draw(st.integers(0, most_held)) if each.deleted_at is None else 0 for each in pool]
        if firm and (not allowed(self.mine, self.spread) or sum(self.mine) > self.amount):
            self.mine = [0] * len(pool)
        picks = tuple(Pick(number, n, self.demand) for number, n in zip(self.numbers, self.mine, strict=True) if n)
        window, snapshot = Window(from_seconds(start), from_seconds(end)), pool_of(pool, rows, EPOCH)
        self.search: Search[Any] = Search(
            snapshot, window, window.duration, picks, firm=firm, margin=timedelta(seconds=margin)
        )
        free = Oracle(pool, latest(rows), 0).slots((start - margin, end + margin), self.demand)
        self.stays = all(own <= count for own, count in zip(self.mine, free, strict=True))
        # A held host that is not bookable keeps its slots and gets no more.
        self.room = [
            min(count, MOST if each.bookable else own) for each, count, own in zip(pool, free, self.mine, strict=True)
        ]

    @property
    def way(self) -> Way:
        return Way("virtual:instance", self.demand, self.spread, Layout())

    def places(self) -> list[int] | None:
        """Return the slots placed on each host, or None when they cannot be placed."""
        found = place(self.way, self.amount, self.search, self.search.snapshot.eligible.enrolled())
        if found is None:
            return None
        assert all(pick.demand == self.demand and pick.slots > 0 for pick in found)
        slots = placed(found)
        return [slots.get(number, 0) for number in self.numbers]


@pytest.mark.parametrize(
    ("most_held", "firm"), [(0, False), (3, False), (2, True)], ids=["new slots", "held slots", "slots in use"]
)
@given(data=st.data())
def test_slots_are_placed_exactly_when_there_is_a_way(data: st.DataObject, most_held: int, *, firm: bool) -> None:
    case = Case(data, most_held, firm=firm)
    least = case.mine if firm else [0] * len(case.mine)
    try:
        slots = case.places()
    except InUseError:
        assert firm
        assert not case.stays
        return
    assert case.stays or not firm
    ways = all_ways(case.room, case.spread, least)
    assert (slots is not None) == (case.amount in ways)
    if slots is None:
        mask = case.search.snapshot.eligible.enrolled()
        refusal = explain(case.way, case.amount, case.search, mask)
        assert refusal.largest == max(ways)
    else:
        assert sum(slots) == case.amount
        assert allowed(slots, case.spread)
        assert all(low <= count <= most for low, count, most in zip(least, slots, case.room, strict=True))


@given(st.integers(0, 6), st.integers(1, 3), st.lists(st.integers(0, 3), max_size=3), st.integers(1, 9), st.booleans())
def test_a_host_that_stays_keeps_what_it_has_and_gets_no_more(
    vcpus: int,
    held: int,
    others: list[int],
    more: int,
    matches: bool,  # noqa: FBT001 - an example
) -> None:
    """Whether it has less than that now, or more than enough and lacks what was asked for."""
    sizes = [vcpus, *others]
    pool = pool_of([host(number, vcpus=size) for number, size in enumerate(sizes, 1)])
    mask = np.array([matches, *([True] * len(others))])
    there = search(pool, held=(Pick(1, held, {"VCPU": 1}),), firm=True, staying=frozenset({1}))
    found = place(Way("virtual:instance", {"VCPU": 1}, SlotSpread.ANY, Layout()), held + more, there, mask)
    assert (found is not None) == (sum(others) >= more)
    if found is not None:
        assert placed(found)[1] == held
        assert sum(placed(found).values()) == held + more
