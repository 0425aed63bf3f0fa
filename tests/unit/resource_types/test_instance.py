"""Instances of one size: what `test_kinds.py` does not say of every type, above all the spread and the packing.

`test_slots.py` compares the placement with brute force; here are the rules that choose among several placements.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from leasehold.model.allocation import Pick
from leasehold.model.errors import ConflictError
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.instance.kind import InstanceKind, InstanceRequest
from tests.unit.resource_types.kinds import FLAVORS, INSTANCES, LARGE, Example
from tests.unit.resource_types.pool import booked, host, hours, placed, pool_of, refused, reservation, search

KIND = InstanceKind()
DEMAND = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
MARGIN = timedelta(minutes=15)


def request(amount: int = 1, vcpus: int = 2, **more: Any) -> InstanceRequest:
    return KIND.parse({**INSTANCES.sent, "amount": amount, "vcpus": vcpus, **more})


def held(slots: dict[int, int]) -> tuple[Pick, ...]:
    """Return picks of slots that are already held, by host."""
    return tuple(Pick(number, count, DEMAND) for number, count in slots.items())


# ---------------------------------------------------------------- requests


def test_everything_may_change_while_pending() -> None:
    changes = {"amount": 1, "vcpus": 4, "memory_mb": 2, "disk_gb": 20, "affinity": True, "resource_properties": LARGE}
    assert KIND.store(KIND.amend(reservation(KIND, request(3)), changes)) == changes


@pytest.mark.parametrize("ex", [INSTANCES, FLAVORS])
def test_a_reservation_of_slots_in_error_does_not_change(ex: Example) -> None:
    with pytest.raises(ConflictError):
        ex.kind.amend(reservation(ex.kind, ex.request(2), status=ReservationStatus.ERROR), ex.sized(3))


# ---------------------------------------------------------------- placement


def test_hosts_that_carry_slots_in_the_window_are_filled_first() -> None:
    promises = [booked(3, hours(0, 1.5), 1, DEMAND), booked(2, hours(2, 3), 1, DEMAND)]
    snapshot = pool_of([host(1), host(2), host(3)], promises)
    assert placed(KIND.allocate(request(3), search(snapshot))) == {3: 3}
    assert placed(KIND.allocate(request(5), search(snapshot))) == {3: 3, 1: 2}
    assert placed(KIND.allocate(request(11), search(snapshot))) == {3: 3, 1: 4, 2: 4}


def test_all_slots_on_one_host_go_to_the_first_that_holds_them_all() -> None:
    snapshot = pool_of([host(1, 4), host(2, 8), host(3, 8)], [booked(1, hours(1, 2), 1, DEMAND)])
    assert placed(KIND.allocate(request(1, affinity=True), search(snapshot))) == {1: 1}
    assert placed(KIND.allocate(request(3, affinity=True), search(snapshot))) == {2: 3}
    assert refused(KIND.allocate(request(5, affinity=True), search(snapshot))).largest == 4


def test_all_slots_on_different_hosts_are_one_on_each() -> None:
    snapshot = pool_of([host(1), host(2, 1), host(3), host(4)], [booked(4, hours(1, 2), 1, DEMAND)])
    assert placed(KIND.allocate(request(2, affinity=False), search(snapshot))) == {4: 1, 1: 1}
    assert placed(KIND.allocate(request(3, affinity=False), search(snapshot))) == {4: 1, 1: 1, 3: 1}
    assert refused(KIND.allocate(request(4, affinity=False), search(snapshot))).largest == 3


@pytest.mark.parametrize("taken", range(5))
def test_every_slot_of_others_counts_not_every_reservation_once(taken: int) -> None:
    """Upstream Blazar grants 4x2, then 3x2 and 2x2 VCPUs on one host with 8 (contract resources §3)."""
    there = search(pool_of([host(1)], [booked(1, hours(0, 9), taken, DEMAND)]))
    if taken < 4:
        assert KIND.allocate(request(4 - taken), there) == [Pick(1, 4 - taken, DEMAND)]
    refusal = refused(KIND.allocate(request(5 - taken), there))
    assert (refusal.largest, refusal.nearest) == (4 - taken, None if taken == 0 else hours(9, 10))


@pytest.mark.parametrize("size", [{"vcpus": 8}, {"memory_mb": 65536}, {"disk_gb": 1000}])
def test_each_size_limits(size: dict[str, Any]) -> None:
    there = search(pool_of([host(1)]))
    assert placed(KIND.allocate(request(1, **size), there)) == {1: 1}
    assert refused(KIND.allocate(request(2, **size), there)).largest == 1


# ---------------------------------------------------------------- amendments


@pytest.mark.parametrize("firm", [False, True])
def test_slots_held_stay_and_more_are_added_there_first(*, firm: bool) -> None:
    there = search(pool_of([host(1), host(2), host(3)]), held=held({3: 1, 2: 2}), firm=firm)
    assert placed(KIND.allocate(request(3), there)) == {2: 2, 3: 1}
    assert placed(KIND.allocate(request(4), there)) == {2: 3, 3: 1}
    assert placed(KIND.allocate(request(9), there)) == {2: 4, 3: 4, 1: 1}


def test_a_lower_amount_gives_up_the_smallest_shares_while_pending() -> None:
    there = search(pool_of([host(1), host(2)]), held=held({1: 1, 2: 2}))
    assert placed(KIND.allocate(request(2), there)) == {2: 2}


def test_of_slots_that_do_not_fit_the_new_window_only_the_surplus_moves() -> None:
    snapshot = pool_of([host(1), host(2)], [booked(1, hours(2, 3), 3, DEMAND)])
    assert placed(KIND.allocate(request(3), search(snapshot, hours(1, 3), held=held({1: 3})))) == {1: 1, 2: 2}


def test_slots_in_use_on_one_host_grow_there_or_not_at_all() -> None:
    pool = pool_of([host(1), host(2, 16)])
    firm = search(pool, held=held({1: 2}), firm=True)
    assert placed(KIND.allocate(request(4, affinity=True), firm)) == {1: 4}
    refusal = refused(KIND.allocate(request(5, affinity=True), firm))
    assert (refusal.asked, refusal.largest, refusal.nearest) == (5, 4, None)
    assert placed(KIND.allocate(request(5, affinity=True), search(pool, held=held({1: 2})))) == {2: 5}


@pytest.mark.parametrize("slots", [{1: 2, 2: 1}, {1: 1, 2: 1, 3: 1}, {2: 1}])
def test_slots_that_shall_be_on_one_host_from_now_on_gather_there(slots: dict[int, int]) -> None:
    there = search(pool_of([host(1), host(2), host(3)]), held=held(slots))
    assert list(placed(KIND.allocate(request(3, affinity=True), there)).values()) == [3]


@pytest.mark.parametrize("firm", [False, True])
def test_a_failed_host_keeps_its_slots_and_gets_no_more(*, firm: bool) -> None:
    there = search(pool_of([host(1, admitted=False), host(2)]), held=held({1: 2}), firm=firm)
    assert placed(KIND.allocate(request(3), there)) == {1: 2, 2: 1}
    assert placed(KIND.allocate(request(6), there)) == {1: 2, 2: 4}
    assert refused(KIND.allocate(request(7), there)).largest == 6


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(("affinity", "amount"), [(None, 4), (True, 3), (False, 3)])
def test_what_a_refusal_offers_is_granted(*, affinity: bool | None, amount: int) -> None:
    promises = [booked(1, hours(0, 4), 3, DEMAND), booked(2, hours(0, 5), 4, DEMAND), booked(3, hours(3, 6))]
    snapshot = pool_of([host(1), host(2), host(3, 4)], promises)
    there = search(snapshot, hours(1, 3), margin=MARGIN)
    refusal = refused(KIND.allocate(request(amount, affinity=affinity), there))
    assert refusal.largest >= 1
    assert sum(placed(KIND.allocate(request(refusal.largest, affinity=affinity), there)).values()) == refusal.largest
    refused(KIND.allocate(request(refusal.largest + 1, affinity=affinity), there))
    assert refusal.nearest is not None
    later = search(snapshot, refusal.nearest, margin=MARGIN)
    assert sum(placed(KIND.allocate(request(amount, affinity=affinity), later)).values()) == amount
