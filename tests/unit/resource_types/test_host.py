"""Whole hosts: requests, the choice of hosts, amendments, and refusals."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError, InvalidInputError, MalformedExpressionError, MissingParameterError
from leasehold.resource_types.fields import MOST
from leasehold.resource_types.host.kind import HostKind, HostRequest
from tests.unit.resource_types.pool import (
    booked,
    from_database,
    host,
    hours,
    numbers,
    pool_of,
    refused,
    reservation,
    search,
    steps,
)

KIND = HostKind()
THREE = [host(1), host(2), host(3)]


def asked(least: object = 1, most: object = 1, **more: Any) -> dict[str, Any]:
    return {"min": least, "max": most, "hypervisor_properties": "", "resource_properties": "", **more}


def request(least: int = 1, most: int = 1, **more: Any) -> HostRequest:
    return KIND.parse(asked(least, most, **more))


def held(*which: int) -> tuple[Pick, ...]:
    return tuple(map(Pick, which))


# ---------------------------------------------------------------- requests


def test_a_request_is_kept_with_its_defaults_and_without_unknown_keys() -> None:
    parsed = KIND.parse(asked(1, 2, colour="red"))
    assert parsed == HostRequest(1, 2, "", "", "default")
    assert KIND.store(parsed) == asked(1, 2, before_end="default")


def test_numbers_may_be_text() -> None:
    assert KIND.store(KIND.parse(asked("1", "12"))) == asked(1, 12, before_end="default")


@pytest.mark.parametrize("field", ["min", "max"])
@pytest.mark.parametrize("value", [0, -1, "0", "", "bar", None, 1.5, True, 2**31])
def test_min_and_max_are_whole_numbers_from_one(field: str, value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.parse(asked() | {field: value})
    assert caught.value.field == field
    assert field in caught.value.message


def test_max_is_not_below_min() -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.parse(asked(3, 2))
    assert caught.value.field == "max"
    assert caught.value.message == "The value of max (2) must not be less than min (3)."


@pytest.mark.parametrize("field", ["min", "max", "hypervisor_properties", "resource_properties"])
def test_required_keys_are_named_when_missing(field: str) -> None:
    raw = asked()
    del raw[field]
    with pytest.raises(MissingParameterError, match=f"Missing parameter {field}"):
        KIND.parse(raw)


@pytest.mark.parametrize("field", ["hypervisor_properties", "resource_properties"])
@pytest.mark.parametrize("text", ["x", "8", "null", '["==", "$vcpus", 8]', '["~", "$vcpus", "8"]', '["and", []]'])
def test_malformed_properties_are_refused(field: str, text: str) -> None:
    with pytest.raises(MalformedExpressionError) as caught:
        KIND.parse(asked(**{field: text}))
    assert caught.value.field == field


@pytest.mark.parametrize("value", [None, ["==", "$vcpus", "8"], 8])
def test_properties_are_text(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.parse(asked(resource_properties=value))
    assert caught.value.field == "resource_properties"


@pytest.mark.parametrize("value", ["", "snapshot", "default"])
def test_before_end_is_one_of_three(value: str) -> None:
    assert KIND.parse(asked(before_end=value)).before_end == value


@pytest.mark.parametrize("value", ["email", None, 1])
def test_another_before_end_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.parse(asked(before_end=value))
    assert caught.value.field == "before_end"


def test_an_amendment_changes_the_keys_it_names() -> None:
    part = reservation(KIND, request(1, 2, before_end="snapshot"))
    assert KIND.amend(part, {"max": "4"}) == request(1, 4, before_end="snapshot")


def test_an_amendment_is_read_like_a_request() -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.amend(reservation(KIND, request(2, 2)), {"max": 1})
    assert caught.value.field == "max"


def test_exactly_asks_for_neither_more_nor_less() -> None:
    assert KIND.exactly(request(1, 5), 3) == request(3, 3)


def test_the_view_is_the_request() -> None:
    assert KIND.view(reservation(KIND, request(1, 2))) == asked(1, 2, before_end="default")


@given(
    st.builds(
        HostRequest,
        min=st.integers(1, MOST),
        max=st.integers(1, MOST),
        hypervisor_properties=st.text(),
        resource_properties=st.text(),
        before_end=st.sampled_from(["", "snapshot", "default"]),
    )
)
def test_a_request_comes_back_from_the_database_as_it_was(request: HostRequest) -> None:
    assert KIND.load(from_database(KIND, request)) == request


# ---------------------------------------------------------------- choice of hosts


def test_the_lowest_numbers_come_first_whatever_their_order_of_arrival() -> None:
    assert numbers(KIND.allocate(request(1, 2), search(pool_of([host(9), host(2), host(5)])))) == [2, 5]


def test_picks_are_of_the_whole_host() -> None:
    assert KIND.allocate(request(), search(pool_of(THREE))) == [Pick(1, 1, None)]


def test_max_is_filled_as_far_as_there_are_hosts() -> None:
    assert numbers(KIND.allocate(request(2, 9), search(pool_of(THREE)))) == [1, 2, 3]


def test_hosts_with_anything_booked_in_the_window_are_passed_over() -> None:
    slots = booked(1, hours(0, 1.5), 1, {"VCPU": 1})
    whole = booked(2, hours(1.5, 9))
    assert numbers(KIND.allocate(request(1, 3), search(pool_of(THREE, [slots, whole])))) == [3]


def test_windows_that_only_meet_do_not_collide() -> None:
    snapshot = pool_of([host(1)], [booked(1, hours(0, 1)), booked(1, hours(2, 3))])
    assert numbers(KIND.allocate(request(), search(snapshot, hours(1, 2)))) == [1]


def test_the_cleaning_margin_stays_free_on_both_sides() -> None:
    snapshot = pool_of(THREE, [booked(1, hours(0, 0.75)), booked(2, hours(2.25, 3)), booked(3, hours(2.5, 3))])
    margin = timedelta(minutes=30)
    assert numbers(KIND.allocate(request(1, 3), search(snapshot, margin=margin))) == [3]
    assert numbers(KIND.allocate(request(1, 3), search(snapshot))) == [1, 2, 3]


def test_failed_and_removed_hosts_are_not_picked() -> None:
    snapshot = pool_of([host(1, reservable=False), host(2, deleted_at=hours(0, 1).start), host(3)])
    assert numbers(KIND.allocate(request(1, 3), search(snapshot))) == [3]


def test_both_property_fields_count_and_share_one_namespace() -> None:
    hosts = [host(n, vcpus=vcpus, properties={"rack": rack}) for n, vcpus, rack in [(1, 8, "a"), (2, 16, "b")]]
    hosts += [host(3, vcpus=16, properties={"rack": "a"})]
    for fields in (("hypervisor_properties", "resource_properties"), ("resource_properties", "hypervisor_properties")):
        texts: dict[str, Any] = dict(zip(fields, ('[">", "$vcpus", "9"]', '["==", "$rack", "a"]'), strict=True))
        assert numbers(KIND.allocate(request(1, 3, **texts), search(pool_of(hosts)))) == [3]


@pytest.mark.parametrize("field", ["hypervisor_properties", "resource_properties"])
def test_an_unknown_property_is_answered_with_where_they_are_listed_and_names_none(field: str) -> None:
    snapshot = pool_of([host(1, properties={"rack": "a"})])
    with pytest.raises(InvalidInputError) as caught:
        KIND.allocate(KIND.parse(asked(**{field: '["==", "$rak", "a"]'})), search(snapshot))
    assert (caught.value.status, caught.value.field) == (400, field)
    assert caught.value.message.startswith("No host has a property $rak; GET /v1/os-hosts/properties lists")
    assert "rack" not in caught.value.message


# ---------------------------------------------------------------- amendments


def test_an_amendment_keeps_the_hosts_held() -> None:
    there = search(pool_of(THREE), held=held(3), before=request(1, 1))
    assert numbers(KIND.allocate(request(2, 2), there)) == [3, 1]


@pytest.mark.parametrize("firm", [False, True])
def test_an_amendment_of_something_else_does_not_grow(*, firm: bool) -> None:
    there = search(pool_of(THREE), hours(1, 9), held=held(2), firm=firm, before=request(1, 3))
    assert numbers(KIND.allocate(request(1, 3, before_end="snapshot"), there)) == [2]


def test_an_amendment_of_something_else_makes_up_for_what_is_missing() -> None:
    there = search(pool_of(THREE), held=held(2), before=request(2, 3))
    assert numbers(KIND.allocate(request(2, 3), there)) == [2, 1]


def test_a_new_max_fills_up() -> None:
    there = search(pool_of(THREE), held=held(2), before=request(1, 1))
    assert numbers(KIND.allocate(request(1, 3), there)) == [2, 1, 3]


def test_a_lower_max_gives_up_the_surplus_while_pending() -> None:
    there = search(pool_of(THREE), held=held(3, 2, 1), before=request(1, 3))
    assert len(numbers(KIND.allocate(request(1, 2), there))) == 2


def test_a_host_that_is_taken_in_the_new_window_is_exchanged_while_pending() -> None:
    snapshot = pool_of(THREE, [booked(2, hours(2, 3))])
    there = search(snapshot, hours(1, 3), held=held(2), before=request())
    assert numbers(KIND.allocate(request(), there)) == [1]


def test_a_host_that_does_not_match_the_new_properties_is_exchanged_while_pending() -> None:
    snapshot = pool_of([host(1), host(2, vcpus=16)])
    there = search(snapshot, held=held(1), before=request())
    assert numbers(KIND.allocate(request(resource_properties='["==", "$vcpus", "16"]'), there)) == [2]


def test_a_failed_host_is_kept_and_no_other_failed_one_is_added() -> None:
    snapshot = pool_of([host(1, reservable=False), host(2, reservable=False), host(3)])
    there = search(snapshot, held=held(2), before=request())
    assert numbers(KIND.allocate(request(2, 3), there)) == [2, 3]


def test_hosts_in_use_are_never_given_up_for_a_lower_max() -> None:
    there = search(pool_of(THREE), held=held(1, 2), firm=True, before=request(1, 2))
    with pytest.raises(InUseError) as caught:
        KIND.allocate(request(1, 1), there)
    assert (caught.value.status, caught.value.field) == (409, "max")
    assert "uses 2 hosts, so max cannot become 1" in caught.value.message


def test_hosts_in_use_are_never_exchanged_for_a_longer_window() -> None:
    snapshot = pool_of(THREE, [booked(2, hours(2, 3))])
    there = search(snapshot, hours(1, 3), held=held(1, 2), firm=True, before=request(1, 2))
    with pytest.raises(InUseError, match="1 of the 2 hosts in use cannot be kept") as caught:
        KIND.allocate(request(1, 2), there)
    assert caught.value.field == "end_date"


def test_hosts_in_use_are_never_exchanged_for_other_properties() -> None:
    there = search(pool_of([host(1), host(2, vcpus=16)]), held=held(1), firm=True, before=request())
    with pytest.raises(InUseError):
        KIND.allocate(request(resource_properties='["==", "$vcpus", "16"]'), there)


def test_hosts_in_use_stay_when_more_are_added() -> None:
    there = search(pool_of(THREE), held=held(3, 2), firm=True, before=request(2, 2))
    assert set(numbers(KIND.allocate(request(3, 3), there))) == {1, 2, 3}


# ---------------------------------------------------------------- refusals


def test_a_refusal_counts_what_every_filter_leaves() -> None:
    hosts = [host(1), host(2), host(3, reservable=False), host(4, vcpus=4), host(5, deleted_at=hours(0, 1).start)]
    snapshot = pool_of(hosts, [booked(1, hours(0, 5))])
    wanted = request(2, 4, hypervisor_properties='[">=", "$vcpus", "8"]')
    refusal = refused(KIND.allocate(wanted, search(snapshot)))
    assert [step.name for step in refusal.steps] == ["enrolled", "matching", "healthy", "free in the window"]
    assert steps(refusal) == [4, 3, 2, 1]
    assert (refusal.asked, refusal.largest) == (2, 1)
    assert refusal.sentence == (
        "Not enough hosts available: 2 asked, 1 free (4 enrolled, 3 matching, 2 healthy, 1 free in the window). "
        "The nearest window in which 2 fit starts at 2031-05-01 05:00:00 UTC."
    )


def test_what_a_refusal_offers_is_granted() -> None:
    snapshot = pool_of(THREE, [booked(1, hours(0, 4)), booked(2, hours(3, 6)), booked(3, hours(0, 5))])
    margin = timedelta(minutes=15)
    refusal = refused(KIND.allocate(request(2, 2), search(snapshot, hours(1, 2.5), margin=margin)))
    assert refusal.largest == 1
    assert numbers(KIND.allocate(request(1, 1), search(snapshot, hours(1, 2.5), margin=margin))) == [2]
    assert refusal.nearest == hours(5.25, 6.75)
    assert numbers(KIND.allocate(request(2, 2), search(snapshot, refusal.nearest, margin=margin))) == [1, 3]


def test_the_window_offered_has_the_whole_length_although_only_the_rest_was_searched() -> None:
    snapshot = pool_of([host(1)], [booked(1, hours(1.5, 3))])
    refusal = refused(KIND.allocate(request(), search(snapshot, hours(1, 2), length=timedelta(hours=4))))
    assert refusal.nearest == hours(3, 7)


def test_a_refusal_says_when_waiting_does_not_help() -> None:
    refusal = refused(KIND.allocate(request(4, 4), search(pool_of(THREE))))
    assert (refusal.largest, refusal.nearest) == (3, None)
    assert refusal.sentence.endswith("Ask for at most 3.")
    refusal = refused(KIND.allocate(request(), search(pool_of([]))))
    assert (refusal.largest, refusal.nearest) == (0, None)
    assert refusal.sentence.endswith("waiting does not help.")


def test_the_largest_amount_counts_a_failed_host_that_would_be_kept() -> None:
    snapshot = pool_of([host(1, reservable=False), host(2)])
    there = search(snapshot, held=held(1), before=request())
    refusal = refused(KIND.allocate(request(3, 3), there))
    assert numbers(KIND.allocate(request(2, 2), there)) == [1, 2]
    assert refusal.largest == 2
