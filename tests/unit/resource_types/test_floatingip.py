"""Floating IPs: requests, amendments, the choice of addresses, and refusals."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError, InvalidInputError, MissingParameterError
from leasehold.resource_types.fields import MOST
from leasehold.resource_types.floatingip.kind import FloatingIpKind, FloatingIpRequest
from tests.unit.resource_types.pool import (
    NETWORK,
    active,
    address,
    booked,
    from_database,
    hours,
    numbers,
    pool_of,
    refused,
    reservation,
    search,
    steps,
)

KIND = FloatingIpKind()
THREE = [address(1), address(2), address(3)]


def request(amount: object = 1, *lasts: int, network: object = NETWORK, **more: Any) -> FloatingIpRequest:
    named = [f"203.0.113.{last}" for last in lasts]
    return KIND.parse({"network_id": network, "amount": amount, "required_floatingips": named, **more})


def held(*which: int) -> tuple[Pick, ...]:
    return tuple(map(Pick, which))


# ---------------------------------------------------------------- requests


def test_a_request_is_kept_without_unknown_keys() -> None:
    parsed = KIND.parse({"network_id": 7, "amount": "2", "colour": "red"})
    assert parsed == FloatingIpRequest("7", 2, ())
    assert KIND.store(parsed) == {"network_id": "7", "amount": 2, "required_floatingips": []}


def test_named_addresses_are_kept_once_and_in_their_one_spelling() -> None:
    parsed = request(3, required_floatingips=["2001:DB8:0::1", "203.0.113.9", "2001:db8::1"])
    assert parsed.required_floatingips == ("2001:db8::1", "203.0.113.9")


def test_required_keys_are_named_together_when_missing() -> None:
    with pytest.raises(MissingParameterError, match="Missing parameter network_id, amount"):
        KIND.parse({})


@pytest.mark.parametrize("amount", [0, -1, "", "many", None, 1.5])
def test_the_amount_is_a_whole_number_from_one(amount: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        request(amount)
    assert caught.value.field == "amount"


def test_no_more_addresses_are_named_than_asked_for() -> None:
    assert request(2, 1, 2).required_floatingips == ("203.0.113.1", "203.0.113.2")
    with pytest.raises(InvalidInputError) as caught:
        request(1, 1, 2)
    assert caught.value.field == "required_floatingips"
    assert "names 2 addresses, more than the amount of 1" in caught.value.message


@pytest.mark.parametrize("text", ["", "public", "203.0.113", "203.0.113.256", "203.0.113.1/24", "::g"])
def test_a_name_that_is_no_address_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        request(2, required_floatingips=["203.0.113.1", text])
    assert caught.value.field == "required_floatingips[1]"
    assert "is not an IPv4 or IPv6 address" in caught.value.message


@pytest.mark.parametrize("value", [None, "203.0.113.1", "", [1], {}])
def test_named_addresses_are_a_list_of_texts(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        request(1, required_floatingips=value)
    assert (caught.value.field or "").startswith("required_floatingips")


def test_exactly_changes_the_amount_and_the_view_is_the_request() -> None:
    assert KIND.exactly(request(1), 3) == request(3)
    view = {"network_id": NETWORK, "amount": 2, "required_floatingips": ["203.0.113.1"]}
    assert KIND.view(reservation(KIND, request(2, 1))) == view


@given(
    st.builds(
        FloatingIpRequest,
        network_id=st.text(min_size=1),
        amount=st.integers(1, MOST),
        required_floatingips=st.lists(st.ip_addresses().map(str), unique=True).map(sorted).map(tuple),
    )
)
def test_a_request_comes_back_from_the_database_as_it_was(request: FloatingIpRequest) -> None:
    assert KIND.load(from_database(KIND, request)) == request


# ---------------------------------------------------------------- amendments as requests


@pytest.mark.parametrize("make", [reservation, active])
def test_the_network_never_changes(make: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.amend(make(KIND, request(1)), {"network_id": "other"})
    assert caught.value.field == "network_id"


@pytest.mark.parametrize("make", [reservation, active])
def test_named_addresses_may_only_be_emptied(make: Any) -> None:
    part = make(KIND, request(2, 1))
    assert KIND.amend(part, {"required_floatingips": []}) == request(2)
    assert KIND.amend(part, {"required_floatingips": ["203.0.113.1"]}) == request(2, 1)
    with pytest.raises(InvalidInputError) as caught:
        KIND.amend(part, {"required_floatingips": ["203.0.113.2"]})
    assert caught.value.field == "required_floatingips"
    assert "[]" in caught.value.message


def test_the_amount_moves_both_ways_while_pending() -> None:
    part = reservation(KIND, request(2))
    assert KIND.amend(part, {"amount": 1}) == request(1)
    assert KIND.amend(part, {"amount": "3"}) == request(3)


def test_the_amount_only_grows_once_active() -> None:
    part = active(KIND, request(2))
    assert KIND.amend(part, {"amount": 3}) == request(3)
    with pytest.raises(InvalidInputError, match="cannot shrink below 2") as caught:
        KIND.amend(part, {"amount": 1})
    assert caught.value.field == "amount"


def test_the_amount_does_not_shrink_below_the_named_addresses() -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.amend(reservation(KIND, request(2, 1, 2)), {"amount": 1})
    assert caught.value.field == "required_floatingips"


# ---------------------------------------------------------------- choice of addresses


def test_the_lowest_numbered_free_addresses_of_the_network_are_picked() -> None:
    pool = [address(1, "other"), address(2), address(3), address(4, reservable=False), address(5), address(6)]
    snapshot = pool_of(pool, [booked(3, hours(0, 9))])
    assert KIND.allocate(request(2), search(snapshot)) == [Pick(2), Pick(5)]


def test_named_addresses_come_first() -> None:
    assert numbers(KIND.allocate(request(2, 3), search(pool_of(THREE)))) == [3, 1]


def test_held_addresses_come_after_the_named_and_before_the_others() -> None:
    there = search(pool_of(THREE), held=held(2))
    assert numbers(KIND.allocate(request(3, 3), there)) == [3, 2, 1]


def test_the_cleaning_margin_stays_free() -> None:
    snapshot = pool_of(THREE, [booked(1, hours(0, 0.75))])
    assert numbers(KIND.allocate(request(1), search(snapshot, margin=timedelta(minutes=30)))) == [2]


def test_a_longer_window_moves_to_other_addresses_while_pending() -> None:
    snapshot = pool_of(THREE, [booked(1, hours(2, 3))])
    assert numbers(KIND.allocate(request(1), search(snapshot, hours(1, 3), held=held(1)))) == [2]


def test_addresses_in_use_never_move() -> None:
    snapshot = pool_of(THREE, [booked(1, hours(2, 3))])
    with pytest.raises(InUseError) as caught:
        KIND.allocate(request(1), search(snapshot, hours(1, 3), held=held(1), firm=True))
    assert caught.value.field == "end_date"
    assert set(numbers(KIND.allocate(request(2), search(snapshot, held=held(3), firm=True)))) == {1, 3}


# ---------------------------------------------------------------- refusals


def test_too_few_addresses_are_refused_with_what_would_fit() -> None:
    snapshot = pool_of([*THREE, address(4, "other")], [booked(1, hours(0, 5))])
    refusal = refused(KIND.allocate(request(3), search(snapshot)))
    assert (refusal.noun, refusal.asked, refusal.largest) == ("floating IPs", 3, 2)
    assert steps(refusal) == [3, 2]
    assert refusal.nearest == hours(5, 6)
    assert numbers(KIND.allocate(request(2), search(snapshot))) == [2, 3]
    assert numbers(KIND.allocate(request(3), search(snapshot, refusal.nearest))) == [1, 2, 3]


def test_a_named_address_that_is_taken_leaves_nothing() -> None:
    snapshot = pool_of(THREE, [booked(2, hours(0, 5))])
    refusal = refused(KIND.allocate(request(2, 2, 3), search(snapshot)))
    assert (refusal.asked, refusal.largest) == (2, 0)
    assert (refusal.steps[-1].name, refusal.steps[-1].remaining) == ("of the 2 named ones free", 1)
    assert refusal.nearest == hours(5, 6)


@pytest.mark.parametrize("last", [9, 4], ids=["nowhere", "in another network"])
def test_waiting_does_not_help_for_a_named_address_that_is_not_of_the_network(last: int) -> None:
    refusal = refused(KIND.allocate(request(1, last), search(pool_of([*THREE, address(4, "other")]))))
    assert (refusal.largest, refusal.nearest) == (0, None)


def test_an_unknown_network_has_no_addresses() -> None:
    refusal = refused(KIND.allocate(request(1, network="other"), search(pool_of(THREE))))
    assert (steps(refusal), refusal.largest, refusal.nearest) == ([0, 0], 0, None)


@pytest.mark.parametrize(
    "promises",
    [
        # The named address is free first, the amount later.
        [booked(1, hours(0, 4)), booked(2, hours(0, 6)), booked(3, hours(0, 6))],
        # The amount is free first, the named address later.
        [booked(1, hours(4, 6)), booked(2, hours(0, 4)), booked(3, hours(0, 4))],
        # The named address and the amount are each free at times, but both together only at the end.
        [booked(1, hours(0, 3)), booked(2, hours(2.5, 6)), booked(3, hours(2.5, 6)), booked(1, hours(4.5, 5.5))],
    ],
)
def test_the_window_offered_has_the_named_addresses_and_the_amount(promises: list[Any]) -> None:
    snapshot = pool_of(THREE, promises)
    refusal = refused(KIND.allocate(request(2, 1), search(snapshot)))
    assert refusal.nearest == hours(6, 7)
    assert 1 in numbers(KIND.allocate(request(2, 1), search(snapshot, refusal.nearest)))
