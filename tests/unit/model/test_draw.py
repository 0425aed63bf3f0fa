"""Feature A4: which shared hosts are drawn, and whether their servers have room elsewhere, against brute force."""

from __future__ import annotations

from functools import partial
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.placing.displacement import FewestServers
from leasehold.model.placing.draw import Drawable, Guest, Room, first_enough, first_without_place
from leasehold.resource_types.strategy import ranked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Kinds = frozenset[str]
sizes = st.fixed_dictionaries({"VCPU": st.integers(1, 4), "MEMORY_MB": st.integers(1, 4), "DISK_GB": st.integers(0, 4)})
guests = st.builds(Guest, st.uuids().map(str), st.sampled_from(["ACTIVE", "PAUSED", "DELETING"]), st.booleans(), sizes)
hosts = st.lists(st.tuples(st.lists(guests, max_size=3), st.sampled_from("ab")), max_size=6)
wishes = st.lists(st.tuples(st.sampled_from([{"a"}, {"b"}, {"a", "b"}]).map(frozenset), st.integers(1, 3)), max_size=3)


def served(wanted: Sequence[Kinds], there: Sequence[str]) -> bool:
    """Say whether each wish gets a host of its own that is of one of its kinds: a matching, found by trying all."""
    if not wanted:
        return True
    return any(
        kind in wanted[0] and served(wanted[1:], [*there[:place], *there[place + 1 :]])
        for place, kind in enumerate(there)
    )


def subsets(numbers: Iterable[int]) -> Iterable[frozenset[int]]:
    every = sorted(numbers)
    parts = chain.from_iterable(combinations(every, size) for size in range(len(every) + 1))
    return (frozenset(each) for each in parts)


@given(hosts, st.lists(st.sampled_from("ab"), max_size=3), wishes)
def test_no_other_choice_disturbs_fewer_servers(
    shared: list[tuple[list[Guest], str]], pool: list[str], asked: list[tuple[Kinds, int]]
) -> None:
    """Reservations with different properties compete for hosts of two kinds; some are in the pool already."""
    found = {number: Drawable(number, str(number), tuple(there)) for number, (there, _) in enumerate(shared)}
    kinds = {number: kind for number, (_, kind) in enumerate(shared)}
    wanted = [kind for kind, number in asked for _ in range(number)][:5]

    def enough(numbers: frozenset[int]) -> bool:
        return served(wanted, [*pool, *(kinds[each] for each in sorted(numbers))])

    def cost(numbers: frozenset[int]) -> tuple[int, ...]:
        there = [guest for number in numbers for guest in found[number].guests if guest.status != "DELETING"]
        moving = [guest for guest in there if not guest.stays]
        memory = sum((each.size or {})["MEMORY_MB"] for each in moving)
        return len(moving), len(there) - len(moving), memory, len(numbers)

    order = [each.number for each in ranked(FewestServers(), list(found.values()))]
    chosen = first_enough(order, enough)
    possible = [each for each in subsets(found) if enough(each)]
    if not possible:
        assert chosen is None
        return
    assert chosen is not None
    assert enough(chosen)
    assert cost(chosen) == min(map(cost, possible))
    assert not any(enough(chosen - {each}) for each in chosen)


@given(st.lists(guests, max_size=4), st.lists(sizes, max_size=3))
def test_servers_that_have_a_place_can_all_be_placed(moving: list[Guest], free: list[dict[str, int]]) -> None:
    asked: list[int] = []

    def room(number: int) -> Room:
        asked.append(number)
        return Room({name: 2 * amount for name, amount in free[number].items()}, {"VCPU": 3})

    lost = first_without_place(moving, [partial(room, number) for number in range(len(free))])
    assert asked == sorted(set(asked)), "each room is asked for once, and in order"
    fits = any(_holds(moving, places, free) for places in product(range(len(free)), repeat=len(moving)))
    assert lost is not None or fits
    if len(moving) <= 1:
        assert (lost is None) is fits


def _holds(moving: Sequence[Guest], places: Sequence[int], free: Sequence[dict[str, int]]) -> bool:
    """Say whether each room holds the servers that have this place, counted from scratch."""
    pairs = [(guest.size or {}, place) for guest, place in zip(moving, places, strict=True)]
    if any(size["VCPU"] > 3 for size, _ in pairs):
        return False
    return all(
        sum(size[name] for size, place in pairs if place == number) <= 2 * amount
        for number, room in enumerate(free)
        for name, amount in room.items()
    )


def test_who_can_leave_a_host() -> None:
    known, unknown = Guest("1", "ACTIVE", stays=False, size={"VCPU": 1}), Guest("2", "ACTIVE", False, None)
    assert (known.movable, unknown.movable) == (True, False)
    assert not Guest("3", "SHUTOFF", False, {"VCPU": 1}).movable
    assert Guest("4", "DELETING", False, None).movable
    host = Drawable(1, "a", (known, Guest("4", "DELETING", False, None)))
    assert (host.movers, host.size) == ((known,), {"VCPU": 1})


def test_who_stays_need_not_leave_the_host() -> None:
    stopped, going = Guest("1", "SHUTOFF", stays=True, size=None), Guest("2", "DELETING", True, {"VCPU": 1})
    assert (stopped.movable, going.movable) == (True, True)
    host = Drawable(1, "a", (stopped, going))
    assert (host.movers, host.stayers, host.size) == ((), (stopped,), {})


def test_a_host_without_disk_in_placement_has_room_for_any_disk() -> None:
    size = {"VCPU": 1, "MEMORY_MB": 1, "DISK_GB": 9}
    assert Room({"VCPU": 1, "MEMORY_MB": 1}).without(size) == Room({"VCPU": 0, "MEMORY_MB": 0})
    assert Room({"VCPU": 1, "MEMORY_MB": 1, "DISK_GB": 8}).without(size) is None
    assert Room({"MEMORY_MB": 1, "DISK_GB": 9}).without(size) is None
