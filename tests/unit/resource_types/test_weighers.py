"""A weigher says which resources a request gets, and never whether it gets them (feature C8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.calendar.weighing import FirstFit, LeastUsed, Pack, Random, Spread, Weigher, Weighers
from leasehold.model.allocation import Pick
from leasehold.model.refusal import Refusal
from leasehold.resource_types.floatingip.kind import FloatingIpKind
from leasehold.resource_types.host.kind import HostKind
from leasehold.resource_types.instance.kind import InstanceKind
from leasehold.resource_types.policies import load_weighers
from leasehold.resource_types.registry import PluginError
from tests.unit.calendar.oracle import Row, columns
from tests.unit.resource_types.pool import DAY, NETWORK, address, booked, host, hours, placed, search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Kind

pytestmark = pytest.mark.slow

SIZE = {"vcpus": 2, "memory_mb": 1024, "disk_gb": 10}
DEMAND = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
EXPRESSIONS = {"hypervisor_properties": "", "resource_properties": ""}
WEIGHERS = st.sampled_from([Pack(), Spread(), LeastUsed(), Random(3)])


def pool_of(resources: Sequence[Resource], rows: Sequence[Row], weigher: Weigher) -> Snapshot:
    """Return a snapshot of these resources that a weigher orders."""
    calendar = Calendar("pool")
    calendar.update(1, tuple(resources), columns(rows))
    return calendar.snapshot(DAY, weighers=Weighers(weigher))


@st.composite
def bookings(draw: st.DrawFn, slots: st.SearchStrategy[dict[str, int] | None]) -> list[Row]:
    """Draw what others have of up to five resources, some of it before and after the hour that is asked for."""
    found = []
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.sampled_from([0, 0.5, 1, 1.5, 2, 3]))
        window = hours(start, start + draw(st.sampled_from([0.5, 1, 2])))
        demand = draw(slots)
        found.append(booked(draw(st.integers(1, 5)), window, 1 if demand is None else draw(st.integers(1, 3)), demand))
    return found


def both(kind: Kind[Any], request: Any, views: Sequence[Snapshot], held: tuple[Pick, ...]) -> list[dict[int, int]]:
    """Return what the request gets by each view, after both have granted or refused it alike."""
    answers = [kind.allocate(request, search(view, held=held)) for view in views]
    first, second = answers
    assert isinstance(first, Refusal) == isinstance(second, Refusal)
    if isinstance(first, Refusal):
        assert first == second
        return []
    return [placed(each) for each in answers if not isinstance(each, Refusal)]


@given(st.data(), WEIGHERS, st.integers(1, 5), st.integers(0, 4))
def test_whole_hosts_and_addresses(data: st.DataObject, weigher: Weigher, least: int, more: int) -> None:
    rows = data.draw(bookings(st.none()))
    for kind, pool, request in (
        (HostKind(), [host(n) for n in range(1, 6)], {"min": least, "max": least + more, **EXPRESSIONS}),
        (FloatingIpKind(), [address(n) for n in range(1, 6)], {"network_id": NETWORK, "amount": least}),
    ):
        views = [pool_of(pool, rows, each) for each in (FirstFit(), weigher)]
        free = {int(number) for number in views[0].numbers[views[0].free(hours(1, 2))]}
        found = both(kind, kind.parse(request), views, ())
        if found:
            plain, weighed = found
            assert len(plain) == len(weighed)
            assert free >= weighed.keys()


@given(
    st.data(),
    WEIGHERS,
    st.integers(1, 12),
    st.sampled_from([True, False, None]),
    st.dictionaries(st.integers(1, 5), st.integers(1, 2), max_size=2),
)
def test_slots(
    data: st.DataObject,
    weigher: Weigher,
    amount: int,
    affinity: bool | None,  # noqa: FBT001 - an example
    own: dict[int, int],
) -> None:
    rows = data.draw(bookings(st.sampled_from([None, DEMAND, {"VCPU": 1}])))
    pool = [host(n, vcpus) for n, vcpus in zip(range(1, 6), [8, 4, 2, 8, 6], strict=True)]
    kind = InstanceKind()
    request = kind.parse({**SIZE, "amount": amount, "affinity": affinity, "resource_properties": ""})
    held = () if isinstance(affinity, bool) else tuple(Pick(number, count, DEMAND) for number, count in own.items())
    views = [pool_of(pool, rows, each) for each in (FirstFit(), weigher)]
    found = both(kind, request, views, held)
    if found:
        room = dict(zip(range(1, 6), views[1].slots(hours(1, 2), DEMAND).tolist(), strict=True))
        weighed = found[1]
        assert sum(weighed.values()) == amount
        assert all(count <= room[number] for number, count in weighed.items())
        assert affinity is not True or len(weighed) == 1
        assert affinity is not False or set(weighed.values()) == {1}


def test_instances_are_spread_or_packed() -> None:
    rows = [booked(2, hours(1, 2), 1, DEMAND), booked(3, hours(1, 2), 2, DEMAND)]
    pool = [host(number) for number in (1, 2, 3)]
    kind = InstanceKind()
    request = kind.parse({**SIZE, "amount": 1, "affinity": None, "resource_properties": ""})

    def first(weigher: Weigher) -> dict[int, int]:
        found = kind.allocate(request, search(pool_of(pool, rows, weigher)))
        assert not isinstance(found, Refusal)
        return placed(found)

    assert [first(each) for each in (FirstFit(), Pack(), Spread())] == [{2: 1}, {3: 1}, {1: 1}]


def test_weighers_are_found_by_their_names() -> None:
    found = load_weighers("spread", {"physical:host": "pack"})
    assert isinstance(found.of("physical:host"), Pack)
    assert isinstance(found.of("virtual:instance"), Spread)
    with pytest.raises(PluginError, match=r"weigher names 'heaviest'"):
        load_weighers("heaviest", {})
    with pytest.raises(PluginError, match=r"weigher_by_type names 'heaviest'"):
        load_weighers("first_fit", {"physical:host": "heaviest"})
