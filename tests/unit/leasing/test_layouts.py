"""Leases whose hosts lie together or apart by rack: every way to get or lose a host keeps that (feature C4)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.availability.search import Wish, search_windows
from leasehold.features.availability.use import AvailabilityQuestion, availability_of
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.resources.enrol import enrol
from leasehold.model.errors import InvalidInputError, NotEnoughError
from leasehold.model.resource import HOST
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import DEMO, flavors, hosts, instances, make_service, run_for, run_manager, run_until
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

RACKS = {"a": ("cmp-01", "cmp-02"), "b": ("cmp-05", "cmp-06", "cmp-07"), None: ("cmp-09",)}
"""The hosts of the rack a, of the rack b, and of none. Those of a have 8 VCPUs each, and those of b 32, 4 and 4."""
TOGETHER: dict[str, Any] = {"together": "rack"}
APART: dict[str, Any] = {"apart": "rack"}


@pytest.fixture
def racked(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path) as world:
        for rack, names in RACKS.items():
            world.enrol(*names, **({} if rack is None else {"rack": rack}))
        yield world
        audit(world)


def has(world: World, lease: Lease, position: int = 0) -> list[str]:
    """Return the hosts of a reservation, in order."""
    return sorted(world.holds(lease, position))


def in_rack(world: World, lease: Lease) -> str:
    """Return the rack in which all that a lease has is."""
    (rack,) = {each.properties.get("rack") for each in world.listed() if each.label in world.holds(lease)}
    return str(rack)


def test_hosts_together_and_apart(racked: World) -> None:
    assert has(racked, racked.lease(hosts(2, **TOGETHER))) == ["cmp-01", "cmp-02"]
    assert has(racked, racked.lease(hosts(1, 3, **TOGETHER), start=1, end=2)) == ["cmp-05", "cmp-06", "cmp-07"]
    assert has(racked, racked.lease(hosts(2, **APART), start=2, end=3)) == ["cmp-01", "cmp-05"]
    # At most one of each rack, and the host without a rack is in none.
    assert has(racked, racked.lease(hosts(1, 6, **APART), start=3, end=4)) == ["cmp-01", "cmp-05"]
    assert has(racked, racked.lease(hosts(2, together="availability_zone", apart="rack"), start=4, end=5))


def test_instances_and_flavors(racked: World) -> None:
    assert racked.holds(racked.lease(instances(2, 8, **TOGETHER))) == {"cmp-01": 1, "cmp-02": 1}
    # Rack a has no room any more, and rack b one host that is large enough.
    assert in_rack(racked, racked.lease(instances(3, 8, **TOGETHER))) == "b"
    assert len(has(racked, racked.lease(instances(2, 1, **APART), start=1, end=2))) == 2
    assert in_rack(racked, racked.lease(flavors(2, **TOGETHER), start=2, end=3)) == "a"
    with pytest.raises(NotEnoughError, match="2 free"):
        racked.lease(flavors(3, **APART), start=2, end=3)


def test_a_refusal_offers_what_would_be_granted(racked: World) -> None:
    racked.lease(hosts(resource_properties='["==", "$rack", "b"]'), end=2)
    racked.lease(hosts(resource_properties='["==", "$rack", "a"]'), end=3)
    with pytest.raises(NotEnoughError) as refused:
        racked.lease(hosts(3, **TOGETHER))
    details = refused.value.refusal
    assert details.largest == 2
    assert details.nearest is not None
    assert details.nearest.start == racked.hour(2)
    lease = racked.lease(hosts(3, **TOGETHER), start=2, end=3)
    assert in_rack(racked, lease) == "b"


def test_a_property_that_no_host_has_is_refused(racked: World) -> None:
    with pytest.raises(InvalidInputError, match=r"No host has a property \$shelf") as error:
        racked.lease(hosts(2, together="shelf"))
    assert error.value.field == "reservations[0].together"


def test_an_amendment_keeps_the_rack(racked: World) -> None:
    lease = racked.lease(hosts(2, **TOGETHER), start=1, end=2)
    after = racked.amend(lease, {"min": 3, "max": 3})
    assert has(racked, after) == ["cmp-05", "cmp-06", "cmp-07"]
    after = racked.amend(after, {"min": 2, "max": 2})
    assert in_rack(racked, after) == "b"
    assert len(has(racked, racked.amend(after, {"together": None, "apart": "rack"}))) == 2
    assert {each.properties.get("rack") for each in racked.listed() if each.label in racked.holds(after)} == {"a", "b"}


def test_what_is_in_use_grows_in_its_rack_or_not_at_all(racked: World) -> None:
    lease = racked.active(hosts(1, **TOGETHER), end=2)
    assert has(racked, racked.amend(lease, {"min": 2, "max": 2})) == ["cmp-01", "cmp-02"]
    with pytest.raises(NotEnoughError, match="3 asked, 2 free"):
        racked.amend(lease, {"min": 3, "max": 3})
    slots = racked.active(instances(1, 4, **TOGETHER), end=2)
    assert set(has(racked, racked.amend(slots, {"amount": 2}))) <= set(RACKS["b"])
    with pytest.raises(InvalidInputError, match="together cannot change"):
        racked.amend(slots, {"together": None})


def test_healing_stays_in_the_rack(racked: World) -> None:
    lease = racked.active(hosts(1, **TOGETHER), hosts(2, **TOGETHER), end=2)
    assert has(racked, lease, 1) == ["cmp-05", "cmp-06"]
    racked.clock.advance(minutes=10)
    racked.fail("cmp-05")
    assert has(racked, lease, 1) == ["cmp-06", "cmp-07"]
    # No other host of rack b is left, and one of rack a is no substitute.
    racked.fail("cmp-07")
    assert has(racked, lease, 1) == ["cmp-06"]
    assert racked.part(lease, 1).missing == 1
    assert has(racked, racked.lease(hosts(1), start=0.5, end=1)) == ["cmp-02"]


def test_healing_stays_apart(racked: World) -> None:
    lease = racked.active(hosts(2, **APART), end=2)
    racked.clock.advance(minutes=10)
    racked.fail("cmp-05")
    assert has(racked, lease) == ["cmp-01", "cmp-06"]
    racked.fail("cmp-01")
    assert has(racked, lease) == ["cmp-02", "cmp-06"]


def test_what_has_not_started_moves_to_another_rack_as_a_whole(racked: World) -> None:
    lease = racked.lease(hosts(2, **TOGETHER), start=0.5, end=2)
    racked.fail("cmp-02")
    assert has(racked, lease) == ["cmp-05", "cmp-06"]


def test_a_swap_stays_in_the_rack(racked: World) -> None:
    lease = racked.active(hosts(2, **TOGETHER), end=2)
    racked.clock.advance(minutes=10)
    with pytest.raises(NotEnoughError, match="1 asked, 0 free"):
        racked.swap(lease, host="cmp-01")
    other = racked.active(hosts(2, **TOGETHER), start=0.5, end=2)
    assert has(racked, other) == ["cmp-05", "cmp-06"]
    racked.swap(other, host="cmp-05")
    assert has(racked, other) == ["cmp-06", "cmp-07"]


def test_a_swap_stays_apart(racked: World) -> None:
    lease = racked.active(hosts(2, **APART), end=2)
    racked.clock.advance(minutes=10)
    racked.swap(lease, host="cmp-05")
    assert has(racked, lease) == ["cmp-01", "cmp-06"]


def test_maintenance_moves_a_lease_within_the_rule(racked: World) -> None:
    lease = racked.lease(hosts(2, **TOGETHER), start=1, end=2)
    racked.maintain("cmp-01", start=1, end=2, on_conflict="move")
    assert in_rack(racked, lease) == "b"


def test_late_binding_makes_room_for_a_rack_and_keeps_others_in_theirs(racked: World) -> None:
    first = racked.lease(hosts(2, **TOGETHER), start=2, end=3)
    second = racked.lease(hosts(1), start=2, end=3)
    assert (has(racked, first), has(racked, second)) == (["cmp-01", "cmp-02"], ["cmp-05"])
    third = racked.lease(hosts(3, **TOGETHER), start=2, end=3)
    assert in_rack(racked, third) == "b"
    assert has(racked, second) == ["cmp-09"]
    assert in_rack(racked, first) == "a"


def test_a_lease_that_waits_gets_its_rack_when_it_is_free(racked: World) -> None:
    blocking = racked.active(*(hosts(resource_properties=f'["==", "$rack", "{rack}"]') for rack in "ab"), end=4)
    waits = racked.lease(hosts(3, **TOGETHER), end=1, type=LeaseType.WAITLIST, deadline=racked.hour(10))
    assert racked.status(waits) == "IN_PROGRESS"
    run_for(racked, minutes=30)
    assert racked.status(waits) == "IN_PROGRESS"
    delete_lease(racked.service, blocking.id)
    run_for(racked, minutes=10)
    assert in_rack(racked, waits) == "b"


def test_a_search_finds_the_first_window_of_a_rack(racked: World) -> None:
    for rack, end in (("a", 2), ("b", 1)):
        racked.lease(hosts(resource_properties=f'["==", "$rack", "{rack}"]'), end=end)
    racked.lease(hosts(3, resource_properties='["==", "$rack", "b"]'), start=2, end=3)
    wishes = [[hosts(3, **TOGETHER)], [hosts(2, **TOGETHER)], [hosts(2, **APART)]]
    found = search_windows(racked.service, DEMO, Wish(wishes, timedelta(hours=1), racked.hour(0), limit=3))
    starts = {each.alternative: each.window.start for each in found.windows if each.alternative == 0}
    assert starts == {0: racked.hour(1)}
    for each in found.windows:
        start = (each.window.start - racked.hour(0)).total_seconds() / 3600
        racked.delete(racked.lease(wishes[each.alternative][0], start=start, end=start + 1))


def test_availability_says_what_one_lease_would_get(racked: World) -> None:
    def throughout(**more: Any) -> int | None:
        question = AvailabilityQuestion(hosts(**more), racked.hour(0), racked.hour(1))
        return availability_of(racked.service, DEMO, question).throughout

    assert (throughout(), throughout(**TOGETHER), throughout(**APART)) == (6, 3, 2)
    racked.lease(hosts(resource_properties='["==", "$rack", "b"]'))
    assert (throughout(), throughout(**TOGETHER), throughout(**APART)) == (5, 2, 2)


def test_best_effort_draws_a_host_of_the_right_rack(racked: World) -> None:
    for name, rack in (("cmp-03.example", "a"), ("cmp-04.example", "b"), ("cmp-08.example", "b")):
        enrol(racked.service, HOST, {"name": name, "pool": "shared"}, {"rack": rack})
    run_manager(racked)
    lease = racked.lease(hosts(4, **TOGETHER), end=2, type=LeaseType.BEST_EFFORT)
    run_for(racked, minutes=5)
    assert in_rack(racked, lease) == "b"
    assert len(has(racked, lease)) == 4


def test_what_is_given_up_leaves_the_rest_together(racked: World) -> None:
    lease = racked.active(hosts(3, **TOGETHER), end=2)
    racked.amend(lease, {"min": 1, "max": 1}, shrinks=True)
    assert in_rack(racked, lease) == "b"
    run_until(racked, racked.hour(2))
