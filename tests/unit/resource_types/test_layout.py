"""Laws of layouts: what lies together or apart by a property does, and what would fit is granted (feature C4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.model.allocation import Pick
from leasehold.model.errors import ConflictError, InUseError, InvalidInputError
from leasehold.model.refusal import Refusal
from leasehold.resource_types.flavor.kind import FlavorKind
from leasehold.resource_types.host.kind import HostKind
from leasehold.resource_types.instance.kind import InstanceKind
from leasehold.resource_types.layout import Layout
from tests.unit.resource_types.pool import (
    active,
    booked,
    from_database,
    granted,
    host,
    hours,
    placed,
    pool_of,
    refused,
    reservation,
    search,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Kind
    from tests.unit.calendar.oracle import Row

pytestmark = pytest.mark.slow

HOSTS = {"hypervisor_properties": "", "resource_properties": ""}
SIZE = {"vcpus": 2, "memory_mb": 1024, "disk_gb": 10, "resource_properties": ""}
DEMAND = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
PROPERTIES = st.sampled_from([None, "rack", "row"])
LAYOUTS = st.tuples(PROPERTIES, PROPERTIES).filter(lambda pair: pair[0] != pair[1])
"""What lies together, and what apart."""
VALUES = {"1": "1", "1.0": "1", "a": "a", "null": None, None: None}
"""Values of a property, and which are equal: as in expressions."""


@st.composite
def racks(draw: st.DrawFn) -> list[Resource]:
    """Draw up to five hosts of one to three slots, some disabled, and all but the first maybe without a rack or row."""
    found: list[Resource] = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        values = [*VALUES] if found else ["a", "1"]
        given_ = {name: draw(st.sampled_from(values)) for name in ("rack", "row")}
        properties = {name: value for name, value in given_.items() if value is not None}
        health = {} if draw(st.integers(0, 5)) else {"disabled": True}
        found.append(host(number, 2 * draw(st.integers(1, 3)), properties=properties, **health))
    return found


@st.composite
def bookings(draw: st.DrawFn, count: int) -> list[Row]:
    """Draw what others have of these hosts, in half hours."""
    found = []
    for _ in range(draw(st.integers(0, 4))):
        start, demand = draw(st.sampled_from([0.5, 1, 1.5, 2])), draw(st.sampled_from([None, DEMAND]))
        window = hours(start, start + draw(st.sampled_from([0.5, 1])))
        found.append(booked(draw(st.integers(1, count)), window, 1, demand))
    return found


def group(resource: Resource, name: str) -> str | None:
    """Return the group of a host by a property, None if it is in none."""
    value = resource.properties.get(name)
    return None if value is None else VALUES[value]


def lies(has: Mapping[int, int], pool: Mapping[int, Resource], layout: tuple[str | None, str | None]) -> bool:
    """Say whether slots, by the number of their host, lie as they should; written without the code under test."""
    together, apart = layout
    where = [pool[number] for number, slots in has.items() for _ in range(slots)]
    of_one = [group(each, together) for each in where] if together else []
    of_each = [group(each, apart) for each in where] if apart else []
    return None not in (*of_one, *of_each) and len(set(of_one)) <= 1 and len(set(of_each)) == len(of_each)


def ways(room: Mapping[int, int]) -> Iterator[dict[int, int]]:
    """Yield every way to put slots on hosts."""
    for slots in product(*(range(most + 1) for most in room.values())):
        yield {number: each for number, each in zip(room, slots, strict=True) if each}


def keys(layout: tuple[str | None, str | None]) -> dict[str, str]:
    return {key: name for key, name in zip(("together", "apart"), layout, strict=True) if name is not None}


def room_of(pool: Sequence[Resource], rows: Sequence[Row], *, whole: bool, start: float = 1) -> dict[int, int]:
    """Return how many slots are free on each host from hour `start` on for an hour; with `whole` whether it is free."""
    found, window = {}, hours(start, start + 1)
    for each in (one for one in pool if not one.disabled):
        begin, end = window.seconds
        there = [row for row in rows if row.number == each.number and row.start < end and row.end > begin]
        if whole or any(row.demand is None for row in there):
            found[each.number] = int(not there)
            continue
        moments = {begin, *(row.start for row in there)}
        busiest = max(sum(row.slots for row in there if row.start <= at < row.end) for at in moments)
        found[each.number] = max(0, each.capacity["VCPU"] // 2 - busiest)
    return found


def asked(amount: int, **layout: str) -> Any:
    return HostKind().parse({"min": amount, "max": amount, **HOSTS, **layout})


def flavors(amount: int, **layout: str) -> Any:
    return replace(FlavorKind().parse({"flavor_id": "f", "amount": amount, "affinity": None, **layout}), demand=DEMAND)


def checked(
    kind: Kind[Any], request: Any, answer: Any, most: int, asked: int, fits: Any, view: Any, starts: Sequence[float]
) -> None:
    """Compare an answer with what the oracle says: at most `most` of what is `asked`; `fits` says when all fits."""
    if most >= asked:
        granted(answer)
        return
    refusal = refused(answer)
    assert refusal.largest == most
    expected = next((start for start in starts if fits(start)), None)
    assert (refusal.nearest and refusal.nearest.start) == (None if expected is None else hours(expected, 9).start)
    if expected is not None:
        granted(kind.allocate(request, search(view, hours(expected, expected + 1))))


STARTS = [1 + half / 2 for half in range(6)]


@settings(max_examples=60, deadline=None)
@given(st.data(), racks(), LAYOUTS, st.integers(1, 4), st.integers(0, 2))
def test_hosts(
    data: st.DataObject, pool: list[Resource], layout: tuple[str | None, str | None], least: int, more: int
) -> None:
    rows, kind, by_number = data.draw(bookings(len(pool))), HostKind(), {each.number: each for each in pool}
    request = kind.parse({"min": least, "max": least + more, **HOSTS, **keys(layout)})

    def most(start: float) -> int:
        room = room_of(pool, rows, whole=True, start=start)
        return max(sum(way.values()) for way in ways(room) if lies(way, by_number, layout))

    view = pool_of(pool, rows)
    answer = kind.allocate(request, search(view))
    checked(kind, request, answer, most(1), least, lambda start: most(start) >= least, view, STARTS)
    if not isinstance(answer, Refusal):
        assert len(answer) == min(most(1), least + more)
        assert lies(placed(answer), by_number, layout)


@settings(max_examples=60, deadline=None)
@given(st.data(), racks(), LAYOUTS, st.integers(1, 6), st.sampled_from([True, False, None]))
def test_instances(
    data: st.DataObject,
    pool: list[Resource],
    layout: tuple[str | None, str | None],
    amount: int,
    affinity: bool | None,  # noqa: FBT001 - drawn
) -> None:
    affinity = None if layout[1] is not None and affinity else affinity
    rows, by_number = data.draw(bookings(len(pool))), {each.number: each for each in pool}
    kinds: list[tuple[Kind[Any], Any]] = []
    sent = {"amount": amount, **SIZE, "affinity": affinity, **keys(layout)}
    kinds.append((InstanceKind(), InstanceKind().parse(sent)))
    if affinity is None:
        kinds.append((FlavorKind(), flavors(amount, **keys(layout))))

    def most(start: float) -> int:
        room = room_of(pool, rows, whole=False, start=start)
        if affinity is False:
            room = {number: min(slots, 1) for number, slots in room.items()}
        lawful = [way for way in ways(room) if lies(way, by_number, layout) and not (affinity and len(way) > 1)]
        return max(sum(way.values()) for way in lawful)

    for kind, request in kinds:
        view = pool_of(pool, rows)
        answer = kind.allocate(request, search(view))
        checked(kind, request, answer, most(1), amount, lambda start: most(start) >= amount, view, STARTS)
        if not isinstance(answer, Refusal):
            assert sum(placed(answer).values()) == amount
            assert lies(placed(answer), by_number, layout)


@settings(max_examples=60, deadline=None)
@given(st.data(), racks(), LAYOUTS, st.integers(1, 4))
def test_what_is_in_use_stays_and_the_rest_lies_with_it(
    data: st.DataObject, pool: list[Resource], layout: tuple[str | None, str | None], amount: int
) -> None:
    by_number = {each.number: each for each in pool}
    lawful = [way for way in ways(dict.fromkeys(by_number, 1)) if way and lies(way, by_number, layout)]
    if not lawful:
        return
    has = data.draw(st.sampled_from(lawful))
    rows = [row for row in data.draw(bookings(len(pool))) if row.number not in has]
    kinds: list[tuple[Kind[Any], Any]] = [
        (HostKind(), asked(amount, **keys(layout))),
        (InstanceKind(), InstanceKind().parse({"amount": amount, **SIZE, "affinity": False, **keys(layout)})),
    ]
    for kind, request in kinds:
        whole = isinstance(kind, HostKind)
        held = tuple(Pick(number, 1, None if whole else DEMAND) for number in has)
        if amount < len(held):
            continue
        room = {number: min(slots, 1) for number, slots in room_of(pool, rows, whole=whole).items()}
        larger = (way for way in ways({**room, **has}) if sum(way.values()) == amount and way.keys() >= has.keys())
        fits = any(lies(way, by_number, layout) for way in larger)
        answer = kind.allocate(request, search(pool_of(pool, rows), held=held, firm=True, before=request))
        assert isinstance(answer, Refusal) != fits
        if not isinstance(answer, Refusal):
            assert placed(answer).keys() >= has.keys()
            assert lies(placed(answer), by_number, layout)


RACKS = [host(n, properties={"rack": "a" if n < 4 else "b"}) for n in range(1, 8)]
"""Hosts 1 to 3 are in rack a, and 4 to 7 in rack b."""


def test_the_group_that_is_taken_first_is_that_of_the_first_host_unless_more_is_held_elsewhere() -> None:
    kind, view = HostKind(), pool_of(RACKS)
    assert placed(kind.allocate(asked(2, together="rack"), search(view))) == {1: 1, 2: 1}
    held: tuple[Pick, ...] = (Pick(5),)
    assert placed(kind.allocate(asked(2, together="rack"), search(view, held=held))) == {5: 1, 4: 1}
    # There is no room for four in the rack of what is held.
    held = (Pick(1), Pick(2))
    assert placed(kind.allocate(asked(4, together="rack"), search(view, held=held))).keys() == {4, 5, 6, 7}


def test_properties_that_somebody_changed_stop_growth_and_nothing_else() -> None:
    kind, view = HostKind(), pool_of(RACKS)
    held = (Pick(3), Pick(4))
    more: dict[str, Any] = {"held": held, "firm": True}
    same, larger = asked(2, together="rack"), asked(3, together="rack")
    assert placed(kind.allocate(same, search(view, before=same, **more))) == {3: 1, 4: 1}
    assert refused(kind.allocate(larger, search(view, before=same, **more))).largest == 2
    with pytest.raises(InUseError, match="do not lie together by 'rack'"):
        kind.allocate(same, search(view, before=asked(2), **more))


def test_what_stays_besides_decides_where_the_rest_lies() -> None:
    kind, view = HostKind(), pool_of(RACKS, [booked(2, hours(1, 2)), booked(3, hours(1, 2))])
    beside = (Pick(3),)
    assert placed(kind.allocate(asked(1, together="rack"), search(view, beside=beside))) == {1: 1}
    assert placed(kind.allocate(asked(1, apart="rack"), search(view, beside=beside))) == {4: 1}


@pytest.mark.parametrize("name", [7, "$rack", "a\nb", "x" * 256, ["rack"], True])
def test_what_is_no_name_of_a_property_is_refused(name: object) -> None:
    with pytest.raises(InvalidInputError, match="The value of apart is not acceptable"):
        asked(1, apart=name)  # type: ignore[arg-type]


def test_a_property_that_no_host_has_is_refused_as_in_an_expression() -> None:
    kinds: list[tuple[Kind[Any], Any]] = [(HostKind(), asked(1, together="shelf"))]
    for kind, request in [*kinds, (FlavorKind(), flavors(1, together="shelf"))]:
        with pytest.raises(InvalidInputError, match=r"No host has a property \$shelf") as error:
            kind.allocate(request, search(pool_of(RACKS)))
        assert error.value.field == "together"
    with pytest.raises(InvalidInputError, match=r"No host has a property \$rack"):
        HostKind().allocate(asked(1, together="rack"), search(pool_of(RACKS), hidden=frozenset({"rack"})))


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="together and apart by 'rack'"):
        asked(2, together="rack", apart="rack")
    with pytest.raises(InvalidInputError, match="all instances are on one host"):
        InstanceKind().parse({"amount": 2, **SIZE, "affinity": True, "apart": "rack"})
    with pytest.raises(ConflictError):
        FlavorKind().parse({"flavor_id": "f", "amount": 1, "affinity": True, "apart": "rack"})


@pytest.mark.parametrize("kind", [HostKind(), InstanceKind(), FlavorKind()], ids=lambda kind: kind.name)
def test_it_is_stored_only_where_it_is_asked_for(kind: Kind[Any]) -> None:
    sent = {"min": 1, "max": 1, **HOSTS} | {"amount": 1, **SIZE, "affinity": None, "flavor_id": "f"}
    plain, laid = kind.parse(sent), kind.parse({**sent, "together": "rack"})
    assert not {"together", "apart"} & kind.store(plain).keys()
    assert kind.load(from_database(kind, laid)) == laid
    part = reservation(kind, laid)
    assert kind.amend(part, {"together": ""}) == plain
    assert kind.amend(part, {"apart": "row"}) != laid
    assert kind.fits(plain, host(1))
    assert not kind.fits(laid, host(1))
    assert kind.fits(laid, RACKS[0])


@pytest.mark.parametrize("kind", [InstanceKind(), FlavorKind()], ids=lambda kind: kind.name)
def test_slots_in_use_keep_their_layout(kind: Kind[Any]) -> None:
    sent = {"amount": 1, **SIZE, "affinity": None, "flavor_id": "f"}
    plain, laid = kind.parse(sent), kind.parse({**sent, "together": "rack"})
    for before, change in ((plain, {"together": "rack"}), (laid, {"together": None}), (laid, {"apart": "row"})):
        with pytest.raises(InvalidInputError, match="cannot change; only amount may grow"):
            kind.amend(active(kind, before), change)


def test_a_layout_is_true_if_it_names_something() -> None:
    assert not Layout()
    assert Layout(apart="rack")
