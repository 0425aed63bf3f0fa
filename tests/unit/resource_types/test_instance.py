"""Instances of one size: requests, the placement of slots, amendments, and refusals."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.allocation import Pick
from leasehold.model.errors import ConflictError, InUseError, InvalidInputError, MissingParameterError
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.fields import MOST
from leasehold.resource_types.instance.kind import InstanceKind, InstanceRequest
from tests.unit.resource_types.pool import (
    OURS,
    active,
    booked,
    from_database,
    host,
    hours,
    placed,
    pool_of,
    refused,
    reservation,
    search,
    steps,
)

KIND = InstanceKind()
FIELDS = ("amount", "vcpus", "memory_mb", "disk_gb", "affinity", "resource_properties")


def asked(amount: object = 1, vcpus: object = 2, affinity: object = None, **more: Any) -> dict[str, Any]:
    sizes = {"vcpus": vcpus, "memory_mb": 1024, "disk_gb": 10}
    return {"amount": amount, "affinity": affinity, "resource_properties": "", **sizes, **more}


def request(amount: int = 1, vcpus: int = 2, **more: Any) -> InstanceRequest:
    return KIND.parse(asked(amount, vcpus, **more))


def demand(vcpus: int = 2) -> dict[str, int]:
    return {"VCPU": vcpus, "MEMORY_MB": 1024, "DISK_GB": 10}


def held(**slots: int) -> tuple[Pick, ...]:
    """Return picks of slots that are already held, by host: `held(cmp_1=2)` is two slots on host 1."""
    return tuple(Pick(int(name.removeprefix("cmp_")), count, demand()) for name, count in slots.items())


# ---------------------------------------------------------------- requests


def test_a_request_is_kept_without_unknown_keys() -> None:
    parsed = KIND.parse(asked("2", "1", "none", colour="red"))
    assert parsed == InstanceRequest(2, 1, 1024, 10, None, "")
    assert KIND.store(parsed) == asked(2, 1, None)


def test_required_keys_are_named_together_when_missing() -> None:
    with pytest.raises(MissingParameterError) as caught:
        KIND.parse({})
    assert caught.value.details == {"missing": list(FIELDS)}


@pytest.mark.parametrize("field", ["amount", "vcpus", "memory_mb"])
@pytest.mark.parametrize("value", [0, -1, "", "two", None, 1.5, 2**31])
def test_amount_and_sizes_are_whole_numbers_from_one(field: str, value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.parse(asked() | {field: value})
    assert caught.value.field == field


def test_an_instance_may_do_without_a_disk() -> None:
    assert KIND.parse(asked(disk_gb=0)).disk_gb == 0


@pytest.mark.parametrize(
    ("spelling", "meaning"), [(True, True), ("True", True), ("no", False), (0, False), ("", None), ("None", None)]
)
def test_affinity_comes_in_many_spellings(*, spelling: object, meaning: bool | None) -> None:
    assert KIND.parse(asked(affinity=spelling)).affinity is meaning


def test_exactly_changes_the_amount() -> None:
    assert KIND.exactly(request(1), 3) == request(3)


def test_the_view_leads_to_the_flavor() -> None:
    part = reservation(KIND, request(2), cloud={"aggregate_id": 7})
    names = {"flavor_id": OURS, "server_group_id": None, "aggregate_id": 7}
    assert KIND.view(part) == {**asked(2), **names}
    assert KIND.view(reservation(KIND, request(2)))["aggregate_id"] is None


@given(
    st.builds(
        InstanceRequest,
        amount=st.integers(1, MOST),
        vcpus=st.integers(1, MOST),
        memory_mb=st.integers(1, MOST),
        disk_gb=st.integers(0, MOST),
        affinity=st.sampled_from([None, True, False]),
        resource_properties=st.text(),
        server_group_id=st.none() | st.uuids().map(str),
    )
)
def test_a_request_comes_back_from_the_database_as_it_was(request: InstanceRequest) -> None:
    assert KIND.load(from_database(KIND, request)) == request


@pytest.mark.parametrize("group", [{}, {"server_group_id": "group"}], ids=["of its own", "taken over"])
def test_a_request_of_an_older_version_is_read_and_kept_as_it_is(group: dict[str, Any]) -> None:
    stored = asked(2, 1, True, **group)
    assert KIND.load(stored) == InstanceRequest(2, 1, 1024, 10, True, "", group.get("server_group_id"))
    assert from_database(KIND, KIND.load(stored)) == stored
    assert KIND.load({**stored, "colour": "red"}) == KIND.load(stored)


# ---------------------------------------------------------------- amendments as requests


def test_everything_may_change_while_pending() -> None:
    changes = asked(1, 4, True, disk_gb=20, resource_properties='["==", "$vcpus", "8"]')
    assert KIND.store(KIND.amend(reservation(KIND, request(3)), changes)) == changes


def test_only_the_amount_grows_once_active() -> None:
    part = active(KIND, request(2))
    assert KIND.amend(part, {"amount": "3"}) == request(3)
    assert KIND.amend(part, {"amount": 2, "vcpus": "2", "affinity": ""}) == request(2)
    with pytest.raises(InvalidInputError, match="cannot shrink below 2") as caught:
        KIND.amend(part, {"amount": 1})
    assert caught.value.field == "amount"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vcpus", 4),
        ("memory_mb", 1),
        ("disk_gb", 0),
        ("affinity", True),
        ("resource_properties", '["==", "$vcpus", "8"]'),
    ],
)
def test_nothing_else_changes_once_active(field: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=f"so {field} cannot change; only amount may grow") as caught:
        KIND.amend(active(KIND, request(2)), {"amount": 3, field: value})
    assert caught.value.field == field


def test_a_reservation_in_error_does_not_change() -> None:
    with pytest.raises(ConflictError):
        KIND.amend(reservation(KIND, request(2), status=ReservationStatus.ERROR), {"amount": 3})


# ---------------------------------------------------------------- placement


def test_picks_say_what_one_slot_takes() -> None:
    assert KIND.allocate(request(3), search(pool_of([host(1)]))) == [Pick(1, 3, demand())]


def test_hosts_that_carry_slots_in_the_window_are_filled_first() -> None:
    promises = [booked(3, hours(0, 1.5), 1, demand()), booked(2, hours(2, 3), 1, demand())]
    snapshot = pool_of([host(1), host(2), host(3)], promises)
    assert placed(KIND.allocate(request(3), search(snapshot))) == {3: 3}
    assert placed(KIND.allocate(request(5), search(snapshot))) == {3: 3, 1: 2}
    assert placed(KIND.allocate(request(11), search(snapshot))) == {3: 3, 1: 4, 2: 4}


def test_all_slots_on_one_host_go_to_the_first_that_holds_them_all() -> None:
    snapshot = pool_of([host(1, 4), host(2, 8), host(3, 8)], [booked(1, hours(1, 2), 1, demand())])
    assert placed(KIND.allocate(request(1, affinity=True), search(snapshot))) == {1: 1}
    assert placed(KIND.allocate(request(3, affinity=True), search(snapshot))) == {2: 3}
    assert refused(KIND.allocate(request(5, affinity=True), search(snapshot))).largest == 4


def test_all_slots_on_different_hosts_are_one_on_each() -> None:
    snapshot = pool_of([host(1), host(2, 1), host(3), host(4)], [booked(4, hours(1, 2), 1, demand())])
    assert placed(KIND.allocate(request(2, affinity=False), search(snapshot))) == {4: 1, 1: 1}
    assert placed(KIND.allocate(request(3, affinity=False), search(snapshot))) == {4: 1, 1: 1, 3: 1}
    assert refused(KIND.allocate(request(4, affinity=False), search(snapshot))).largest == 3


def test_every_slot_of_others_counts_not_every_reservation_once() -> None:
    """Upstream Blazar grants 4x2, then 3x2 and 2x2 VCPUs on one host with 8 (contract resources §3)."""
    full = pool_of([host(1)], [booked(1, hours(0, 9), 4, demand())])
    refusal = refused(KIND.allocate(request(3), search(full)))
    assert (refusal.largest, refusal.nearest) == (0, hours(9, 10))
    for taken in range(4):
        snapshot = pool_of([host(1)], [booked(1, hours(0, 9), taken, demand())])
        assert placed(KIND.allocate(request(4 - taken), search(snapshot))) == {1: 4 - taken}
        assert refused(KIND.allocate(request(5 - taken), search(snapshot))).largest == 4 - taken


def test_the_peak_counts_not_the_sum() -> None:
    promises = [booked(1, hours(start, start + 0.5), 2, demand()) for start in (1, 1.5, 2, 2.5)]
    assert placed(KIND.allocate(request(2), search(pool_of([host(1)], promises), hours(1, 3)))) == {1: 2}


def test_a_lease_on_the_whole_host_keeps_instances_off_it() -> None:
    snapshot = pool_of([host(1), host(2)], [booked(1, hours(1.5, 1.6))])
    assert placed(KIND.allocate(request(1), search(snapshot))) == {2: 1}
    assert refused(KIND.allocate(request(5), search(snapshot))).largest == 4


def test_the_cleaning_margin_stays_free() -> None:
    snapshot = pool_of([host(1)], [booked(1, hours(2.25, 3), 3, demand())])
    assert placed(KIND.allocate(request(4), search(snapshot))) == {1: 4}
    assert refused(KIND.allocate(request(4), search(snapshot, margin=timedelta(minutes=30)))).largest == 1


@pytest.mark.parametrize("size", [{"vcpus": 8}, {"memory_mb": 65536}, {"disk_gb": 1000}])
def test_each_size_limits(size: dict[str, Any]) -> None:
    snapshot = pool_of([host(1)])
    assert placed(KIND.allocate(request(1, **size), search(snapshot))) == {1: 1}
    assert refused(KIND.allocate(request(2, **size), search(snapshot))).largest == 1


def test_properties_choose_among_the_hosts() -> None:
    snapshot = pool_of([host(1, properties={"rack": "a"}), host(2, properties={"rack": "b"})])
    wanted = request(2, resource_properties='["==", "$rack", "b"]')
    assert placed(KIND.allocate(wanted, search(snapshot))) == {2: 2}


def test_an_unknown_property_is_refused_with_the_name_of_its_field() -> None:
    with pytest.raises(InvalidInputError, match=r"No host has a property \$rak") as caught:
        KIND.allocate(request(resource_properties='["==", "$rak", "b"]'), search(pool_of([host(1)])))
    assert caught.value.field == "resource_properties"


def test_failed_and_removed_hosts_take_no_slots() -> None:
    snapshot = pool_of([host(1, reservable=False), host(2, deleted_at=hours(0, 1).start), host(3)])
    assert placed(KIND.allocate(request(4), search(snapshot))) == {3: 4}
    assert steps(refused(KIND.allocate(request(5), search(snapshot)))) == [2, 2, 1, 1]


# ---------------------------------------------------------------- amendments


@pytest.mark.parametrize("firm", [False, True])
def test_slots_held_stay_and_more_are_added_there_first(*, firm: bool) -> None:
    there = search(pool_of([host(1), host(2), host(3)]), held=held(cmp_3=1, cmp_2=2), firm=firm)
    assert placed(KIND.allocate(request(3), there)) == {2: 2, 3: 1}
    assert placed(KIND.allocate(request(4), there)) == {2: 3, 3: 1}
    assert placed(KIND.allocate(request(9), there)) == {2: 4, 3: 4, 1: 1}


def test_a_lower_amount_gives_up_the_smallest_shares_while_pending() -> None:
    there = search(pool_of([host(1), host(2)]), held=held(cmp_1=1, cmp_2=2))
    assert placed(KIND.allocate(request(2), there)) == {2: 2}


def test_slots_that_do_not_fit_the_new_window_move_while_pending() -> None:
    snapshot = pool_of([host(1), host(2)], [booked(1, hours(2, 3), 3, demand())])
    there = search(snapshot, hours(1, 3), held=held(cmp_1=3))
    assert placed(KIND.allocate(request(3), there)) == {1: 1, 2: 2}


def test_slots_in_use_never_move() -> None:
    snapshot = pool_of([host(1), host(2)], [booked(1, hours(2, 3), 3, demand())])
    with pytest.raises(InUseError) as caught:
        KIND.allocate(request(3), search(snapshot, hours(1, 3), held=held(cmp_1=3), firm=True))
    assert (caught.value.status, caught.value.field) == (409, "end_date")


def test_slots_in_use_on_one_host_grow_there_or_not_at_all() -> None:
    there = search(pool_of([host(1), host(2, 16)]), held=held(cmp_1=2), firm=True)
    assert placed(KIND.allocate(request(4, affinity=True), there)) == {1: 4}
    refusal = refused(KIND.allocate(request(5, affinity=True), there))
    assert (refusal.asked, refusal.largest, refusal.nearest) == (5, 4, None)


def test_slots_on_one_host_move_together_while_pending() -> None:
    there = search(pool_of([host(1), host(2, 16)]), held=held(cmp_1=2))
    assert placed(KIND.allocate(request(5, affinity=True), there)) == {2: 5}


@pytest.mark.parametrize("slots", [{"cmp_1": 2, "cmp_2": 1}, {"cmp_1": 1, "cmp_2": 1, "cmp_3": 1}, {"cmp_2": 1}])
def test_slots_that_shall_be_on_one_host_from_now_on_gather_there(slots: dict[str, int]) -> None:
    there = search(pool_of([host(1), host(2), host(3)]), held=held(**slots))
    assert list(placed(KIND.allocate(request(3, affinity=True), there)).values()) == [3]


def test_slots_that_shall_be_on_different_hosts_from_now_on_part() -> None:
    there = search(pool_of([host(1), host(2), host(3)]), held=held(cmp_2=3))
    assert placed(KIND.allocate(request(3, affinity=False), there)) == {2: 1, 1: 1, 3: 1}


@pytest.mark.parametrize("firm", [False, True])
def test_a_failed_host_keeps_its_slots_and_gets_no_more(*, firm: bool) -> None:
    there = search(pool_of([host(1, reservable=False), host(2)]), held=held(cmp_1=2), firm=firm)
    assert placed(KIND.allocate(request(3), there)) == {1: 2, 2: 1}
    refusal = refused(KIND.allocate(request(7), there))
    assert placed(KIND.allocate(request(6), there)) == {1: 2, 2: 4}
    assert refusal.largest == 6


# ---------------------------------------------------------------- refusals


def test_a_refusal_counts_what_every_filter_leaves() -> None:
    pool = [host(1), host(2), host(3, reservable=False), host(4, properties={"rack": "a"})]
    promises = [booked(1, hours(0, 5), 4, demand()), booked(2, hours(0, 5), 3, demand())]
    wanted = request(4, resource_properties='["not", ["==", "$rack", "a"]]')
    refusal = refused(KIND.allocate(wanted, search(pool_of(pool, promises))))
    names = ["hosts enrolled", "matching", "healthy", "with room in the window"]
    assert [step.name for step in refusal.steps] == names
    assert steps(refusal) == [4, 3, 2, 1]
    assert (refusal.noun, refusal.asked, refusal.largest) == ("instances", 4, 1)
    assert refusal.nearest == hours(5, 6)


@pytest.mark.parametrize("affinity", [None, True, False])
def test_what_a_refusal_offers_is_granted(*, affinity: bool | None) -> None:
    promises = [booked(1, hours(0, 4), 3, demand()), booked(2, hours(0, 5), 4, demand()), booked(3, hours(3, 6))]
    snapshot = pool_of([host(1), host(2), host(3, 4)], promises)
    margin = timedelta(minutes=15)
    there = search(snapshot, hours(1, 3), margin=margin)
    amount = {None: 4, True: 3, False: 3}[affinity]
    refusal = refused(KIND.allocate(request(amount, affinity=affinity), there))
    assert refusal.largest >= 1
    assert sum(placed(KIND.allocate(request(refusal.largest, affinity=affinity), there)).values()) == refusal.largest
    refused(KIND.allocate(request(refusal.largest + 1, affinity=affinity), there))
    assert refusal.nearest is not None
    later = search(snapshot, refusal.nearest, margin=margin)
    assert sum(placed(KIND.allocate(request(amount, affinity=affinity), later)).values()) == amount


def test_a_refusal_says_when_waiting_does_not_help() -> None:
    refusal = refused(KIND.allocate(request(1, vcpus=9), search(pool_of([host(1)]))))
    assert (refusal.largest, refusal.nearest) == (0, None)
    assert refusal.sentence.endswith("waiting does not help.")
