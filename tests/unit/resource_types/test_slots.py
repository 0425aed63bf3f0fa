"""The placement of slots, compared with brute force: it never exceeds the room, and finds a placement if one exists."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.search import Spread
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError
from leasehold.model.windows import EPOCH, Window, from_seconds
from leasehold.resource_types.kind import Search
from leasehold.resource_types.slots.placing import explain, place
from tests.unit.calendar.oracle import Oracle, latest
from tests.unit.calendar.strategies import allocations, demands, moments, pools
from tests.unit.resource_types.pool import granted, pool_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.model.resource import Resource

MOST = 3


def allowed(slots: Sequence[int], spread: Spread) -> bool:
    """Return whether a placement, as one count of slots per host, obeys the spread."""
    match spread:
        case Spread.ANY:
            return True
        case Spread.ONE_HOST:
            return sum(count > 0 for count in slots) <= 1
        case Spread.DISTINCT_HOSTS:
            return max(slots, default=0) <= 1


def all_ways(room: Sequence[int], spread: Spread, least: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return one allowed placement for each amount that can be placed, by brute force."""
    ranges = (range(low, min(high, MOST) + 1) for low, high in zip(least, room, strict=True))
    return {sum(slots): slots for slots in product(*ranges) if allowed(slots, spread)}


class Case:
    """A pool with allocations, and a request for slots whose reservation may hold some already."""

    def __init__(self, data: st.DataObject) -> None:
        self.pool: list[Resource] = sorted(data.draw(pools()), key=lambda each: each.number)
        rows = data.draw(allocations(self.pool, most=6))
        self.demand = data.draw(demands)
        self.spread = data.draw(st.sampled_from(Spread))
        self.amount = data.draw(st.integers(1, MOST))
        start = data.draw(moments)
        self.times = (start, start + data.draw(st.integers(1, 12)))
        margin = data.draw(st.sampled_from([0, 0, 2]))
        self.snapshot = pool_of(self.pool, rows, EPOCH)
        window = Window(*map(from_seconds, self.times))
        self.search: Search[Any] = Search(self.snapshot, window, window.duration, margin=timedelta(seconds=margin))
        padded = (self.times[0] - margin, self.times[1] + margin)
        oracle = Oracle(self.pool, latest(rows), 0)
        self.room = [min(count, MOST) for count in oracle.slots(padded, self.demand)]
        self.bookable = [each.bookable for each in self.pool]

    def holding(self, mine: Sequence[int], *, firm: bool) -> Search[Any]:
        picks = tuple(Pick(each.number, n, self.demand) for each, n in zip(self.pool, mine, strict=True) if n)
        return Search(
            self.snapshot, self.search.window, self.search.length, picks, firm=firm, margin=self.search.margin
        )

    def places(self, where: Search[Any]) -> list[int] | None:
        """Return the slots placed on each host, or None when they cannot be placed."""
        found = place(self.demand, self.amount, self.spread, where, self.snapshot.enrolled())
        if found is None:
            return None
        slots = {pick.resource_number: pick.slots for pick in granted(found)}
        assert len(slots) == len(found)
        assert all(pick.demand == self.demand and pick.slots > 0 for pick in found)
        return [slots.get(each.number, 0) for each in self.pool]


@given(st.data())
def test_new_slots_are_placed_exactly_when_there_is_a_way(data: st.DataObject) -> None:
    case = Case(data)
    room = [count if able else 0 for count, able in zip(case.room, case.bookable, strict=True)]
    ways = all_ways(room, case.spread, [0] * len(room))
    slots = case.places(case.search)
    assert (slots is not None) == (case.amount in ways)
    if slots is None:
        mask = case.snapshot.enrolled()
        refusal = explain("virtual:instance", case.demand, case.amount, case.spread, case.search, mask)
        assert refusal.largest == max(ways)
    else:
        assert sum(slots) == case.amount
        assert allowed(slots, case.spread)
        assert all(count <= most for count, most in zip(slots, room, strict=True))


@given(st.data())
def test_slots_held_are_placed_again_exactly_when_there_is_a_way(data: st.DataObject) -> None:
    case = Case(data)
    enrolled = [each.deleted_at is None for each in case.pool]
    mine = [data.draw(st.integers(0, 3)) if there else 0 for there in enrolled]
    room = [
        count if able else min(count, own) if there else 0
        for count, able, own, there in zip(case.room, case.bookable, mine, enrolled, strict=True)
    ]
    slots = case.places(case.holding(mine, firm=False))
    assert (slots is not None) == (case.amount in all_ways(room, case.spread, [0] * len(room)))
    if slots is not None:
        assert sum(slots) == case.amount
        assert allowed(slots, case.spread)
        assert all(count <= most for count, most in zip(slots, room, strict=True))


@given(st.data())
def test_slots_in_use_all_stay_or_the_answer_is_no(data: st.DataObject) -> None:
    case = Case(data)
    enrolled = [each.deleted_at is None for each in case.pool]
    mine = [data.draw(st.integers(0, 2)) if there else 0 for there in enrolled]
    if not allowed(mine, case.spread) or sum(mine) > case.amount:
        mine = [0] * len(mine)
    room = [
        count if able else min(count, own) if there else 0
        for count, able, own, there in zip(case.room, case.bookable, mine, enrolled, strict=True)
    ]
    stays = all(own <= count for own, count in zip(mine, case.room, strict=True))
    try:
        slots = case.places(case.holding(mine, firm=True))
    except InUseError:
        assert not stays
        return
    assert stays
    assert (slots is not None) == (case.amount in all_ways(room, case.spread, mine))
    if slots is not None:
        assert sum(slots) == case.amount
        assert allowed(slots, case.spread)
        assert all(own <= count <= most for own, count, most in zip(mine, slots, room, strict=True))
