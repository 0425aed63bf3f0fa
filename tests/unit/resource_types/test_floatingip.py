"""Floating IPs: what `test_kinds.py` does not say of every type, above all the named addresses."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold.model.errors import InvalidInputError
from leasehold.resource_types.floatingip.kind import FloatingIpKind, FloatingIpRequest
from tests.unit.resource_types.kinds import ADDRESSES
from tests.unit.resource_types.pool import (
    NETWORK,
    active,
    address,
    booked,
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


def request(amount: int = 1, *lasts: int, network: str = NETWORK, **more: Any) -> FloatingIpRequest:
    named = [f"203.0.113.{last}" for last in lasts]
    return KIND.parse({"network_id": network, "amount": amount, "required_floatingips": named, **more})


# ---------------------------------------------------------------- requests


def test_named_addresses_are_kept_once_and_in_their_one_spelling() -> None:
    parsed = request(3, required_floatingips=["2001:DB8:0::1", "203.0.113.9", "2001:db8::1"])
    assert parsed.required_floatingips == ("2001:db8::1", "203.0.113.9")
    assert KIND.view(reservation(KIND, parsed))["required_floatingips"] == ["2001:db8::1", "203.0.113.9"]


def test_no_more_addresses_are_named_than_asked_for() -> None:
    assert request(2, 1, 2).required_floatingips == ("203.0.113.1", "203.0.113.2")
    with pytest.raises(InvalidInputError, match="names 2 addresses, more than the amount of 1") as caught:
        KIND.amend(reservation(KIND, request(2, 1, 2)), {"amount": 1})
    assert caught.value.field == "required_floatingips"


@pytest.mark.parametrize("text", ["", "public", "203.0.113", "203.0.113.256", "203.0.113.1/24", "::g"])
def test_a_name_that_is_no_address_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not an IPv4 or IPv6 address") as caught:
        request(2, required_floatingips=["203.0.113.1", text])
    assert caught.value.field == "required_floatingips[1]"


@pytest.mark.parametrize("value", [None, "203.0.113.1", "", [1], {}])
def test_named_addresses_are_a_list_of_texts(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        request(1, required_floatingips=value)
    assert (caught.value.field or "").startswith("required_floatingips")


@pytest.mark.parametrize("make", [reservation, active])
def test_the_network_stays_and_the_names_may_only_be_given_up(make: Any) -> None:
    part = make(KIND, request(2, 1))
    assert KIND.amend(part, {"required_floatingips": []}) == request(2)
    assert KIND.amend(part, {"required_floatingips": ["203.0.113.1"]}) == request(2, 1)
    for field, value in ADDRESSES.fixed.items():
        with pytest.raises(InvalidInputError, match=r"cannot change|\[\]") as caught:
            KIND.amend(part, {field: value})
        assert caught.value.field == field


# ---------------------------------------------------------------- choice of addresses


def test_the_addresses_are_of_the_network() -> None:
    there = search(pool_of([address(1, "other"), address(2), address(3)]))
    assert numbers(KIND.allocate(request(2), there)) == [2, 3]
    assert numbers(KIND.allocate(request(1, network="other"), there)) == [1]
    refusal = refused(KIND.allocate(request(1, network="unknown"), there))
    assert (steps(refusal), refusal.largest, refusal.nearest) == ([0, 0], 0, None)


def test_named_addresses_come_first_then_those_held_then_the_others() -> None:
    assert numbers(KIND.allocate(request(2, 3), search(pool_of(THREE)))) == [3, 1]
    assert numbers(KIND.allocate(request(3, 3), search(pool_of(THREE), held=ADDRESSES.held(2)))) == [3, 2, 1]


# ---------------------------------------------------------------- refusals


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
