"""Bounds on the contents of one request are checked before any call to the cloud and before any lock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.leasing.requests import MOST_CONDITIONS, MOST_TEXT
from leasehold.model.errors import InvalidInputError, TooMuchHeldError
from tests.counts.meter import Meter
from tests.factory import floating_ips, hosts

if TYPE_CHECKING:
    from tests.factory import World

EACH = 250
LESS = "Ask for less"


def orderings(count: int, length: int = 1) -> dict[str, Any]:
    """Return a host request with `count` order comparisons of texts."""
    parts = [["<", "$hypervisor_hostname", f"{'x' * length}{number}"] for number in range(count)]
    return hosts(hypervisor_properties=json.dumps(["or", *parts], separators=(",", ":")))


def one_of(count: int) -> dict[str, Any]:
    """Return a host request with one `in` comparison of so many values."""
    return hosts(resource_properties=json.dumps(["in", "$rack", *map(str, range(count))]))


def addresses(count: int) -> dict[str, Any]:
    named = [f"203.0.{number // 250}.{number % 250}" for number in range(count)]
    return floating_ips(count, required_floatingips=named)


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ([orderings(EACH)] * (MOST_CONDITIONS // EACH + 1), f"reservations[{MOST_CONDITIONS // EACH}]", LESS),
        ([addresses(1000), hosts(), orderings(25)], "reservations[2]", LESS),
        ([orderings(200, 40)] * 9, "reservations[4].hypervisor_properties", LESS),
        ([one_of(300)], "reservations[0].resource_properties", "compares with more than 256 values"),
    ],
    ids=["comparisons", "addresses", "characters", "values of an in"],
)
def test_a_request_with_too_many_conditions_is_refused_before_anything_is_locked(
    world: World, asked: list[dict[str, Any]], field: str, words: str
) -> None:
    caught: list[InvalidInputError] = []

    def ask() -> None:
        with pytest.raises(InvalidInputError) as error:
            world.lease(*asked, start=1, end=2)
        caught.append(error.value)

    assert Meter(world.engine).of(ask)["statements"] == 0
    assert caught[0].field == field
    assert words in caught[0].message


def test_as_many_conditions_as_allowed_are_looked_at(world: World) -> None:
    asked = [orderings(EACH) for _ in range(MOST_CONDITIONS // EACH)]
    assert sum(len(each["hypervisor_properties"]) for each in asked) < MOST_TEXT
    assert world.lease(*asked, start=1, end=2)


def test_an_amendment_has_the_same_bounds(world: World) -> None:
    lease = world.lease(*[hosts(1)] * 5, start=1, end=2)
    changes = tuple({**orderings(EACH), "id": part.id} for part in lease.reservations)
    with pytest.raises(InvalidInputError, match="more than 1024 conditions") as caught:
        world.amend(lease, reservations=changes)
    assert caught.value.field == "reservations[4]"


def test_as_many_named_addresses_as_the_schema_allows_are_looked_at(world: World) -> None:
    with pytest.raises(TooMuchHeldError):
        world.lease(addresses(1024), start=1, end=2)
