"""The two pools of resources: what becomes of one that somebody wants in a pool, and which of them are offered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.model.membership import Membership, on_request
from leasehold.model.resource import HOST, HOST_POOL, Resource
from tests.db.examples import NOW

ON_THE_WAY = {Membership.RESERVATION: Membership.DRAWING, Membership.SHARED: Membership.GIVING_BACK}
THERE = Resource(1, "1", HOST, HOST_POOL, {"VCPU": 8}, {}, {})


@pytest.mark.parametrize("present", Membership)
@pytest.mark.parametrize("wanted", [Membership.RESERVATION, Membership.SHARED])
def test_a_resource_is_there_or_on_its_way_there(present: Membership, wanted: Membership) -> None:
    after = on_request(present, wanted)
    assert after in (wanted, ON_THE_WAY[wanted])
    assert on_request(after, wanted) is after
    # Nothing is there without having moved.
    assert after is present or after.moves


@pytest.mark.parametrize("membership", Membership)
@pytest.mark.parametrize("admitted", [True, False])
@pytest.mark.parametrize("disabled", [True, False])
@pytest.mark.parametrize("removed", [True, False])
def test_only_what_is_in_the_reservation_pool_is_offered(
    membership: Membership, *, admitted: bool, disabled: bool, removed: bool
) -> None:
    made = replace(
        THERE, membership=membership, admitted=admitted, disabled=disabled, deleted_at=NOW if removed else None
    )
    inside = membership is Membership.RESERVATION
    assert made.pooled == (inside and not removed)
    assert made.usable == (made.pooled and admitted)
    assert made.bookable == (made.usable and not disabled)
    assert made.reservable == (inside and admitted and not disabled)
