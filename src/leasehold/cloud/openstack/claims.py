"""Claims at Placement: allocations for consumers of ours that take all that is left of a provider.

The consumers' ids are derived from the provider's, so claims are found again without any record of them. There are
several consumers, because one gets at most `max_unit` of a class, which is often less than what is left.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.cloud.ports import Inventory

VERSION = "1.38"
"""Consumers have types since 1.38. In the same form as in 1.28, allocations have the generations of their consumers."""
OWNER = "leasehold"
"""The project and the user of our claims: no real one, so that no quota counts them."""
CONSUMER_TYPE = "LEASEHOLD"
MOST = 1024
"""The most claims on one provider. A class that needs more is claimed in part; the other classes keep boots away."""


@lru_cache(maxsize=128)
def consumers(provider: str) -> frozenset[str]:
    """Return all ids that our consumers on the provider can have."""
    return frozenset(_in_order(provider))


@lru_cache(maxsize=128)
def _in_order(provider: str) -> tuple[str, ...]:
    return tuple(str(uuid5(UUID(provider), f"leasehold claim {number}")) for number in range(MOST))


def to_claim(provider: str, inventories: Mapping[str, Inventory], there: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the allocations that take all that is left; `there` are the provider's, by consumer."""
    used: dict[str, int] = {}
    for allocation in there.values():
        for name, amount in allocation["resources"].items():
            used[name] = used.get(name, 0) + amount
    parts = [
        [(name, amount) for amount in _parts(inventory, inventory.capacity - used.get(name, 0))]
        for name, inventory in sorted(inventories.items())
    ]
    free = (consumer for consumer in _in_order(provider) if consumer not in there)
    return {
        consumer: _allocation({provider: {"resources": dict(filter(None, each))}}, None)
        for consumer, each in zip(free, zip_longest(*parts), strict=False)
    }


def to_release(provider: str, there: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the allocations that remove our claims."""
    ours = sorted(consumers(provider) & there.keys())
    return {consumer: _allocation({}, there[consumer]["consumer_generation"]) for consumer in ours}


def _parts(inventory: Inventory, left: int) -> Iterator[int]:
    """Yield amounts that one consumer each may have, until nobody can have any of what is left."""
    while True:
        amount = min(left, inventory.max_unit) // inventory.step_size * inventory.step_size
        if amount < max(1, inventory.min_unit):
            return
        yield amount
        left -= amount


def _allocation(resources: Mapping[str, Any], generation: int | None) -> Mapping[str, Any]:
    return {
        "allocations": resources,
        "project_id": OWNER,
        "user_id": OWNER,
        "consumer_generation": generation,
        "consumer_type": CONSUMER_TYPE,
    }
