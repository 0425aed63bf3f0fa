"""Feature C6: a resource that is for some projects, in each decision; the laws are in `test_restriction_law.py`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.features.alarm.model import AlarmDraft
from leasehold.features.alarm.use import ALARMS, AlarmWatch, make_alarm
from leasehold.features.availability.use import AvailabilityQuestion, availability_of
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource
from leasehold.model.errors import InvalidInputError, NotEnoughError
from leasehold.model.resource import HOST
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import ALT, DEMO, OPERATOR, floating_ips, hosts, instances, run_for

if TYPE_CHECKING:
    from tests.factory import World

ALL = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")


def test_only_its_projects_get_it(world: World) -> None:
    world.restrict(["alt"], "cmp-01")
    assert set(world.holds(world.lease(hosts(1), start=1, end=2, caller=DEMO))) == {"cmp-02"}
    assert set(world.holds(world.lease(hosts(1), start=1, end=2, caller=ALT))) == {"cmp-01"}
    with pytest.raises(NotEnoughError, match=r"4 enrolled, 4 matching, 4 healthy"):
        world.lease(hosts(5), start=3, end=4, caller=DEMO)
    assert len(world.holds(world.lease(hosts(5), start=3, end=4, caller=ALT))) == 5
    world.restrict(None, "cmp-01")
    assert len(world.holds(world.lease(hosts(5), start=5, end=6, caller=DEMO))) == 5


def test_what_is_promised_stays_and_may_be_extended(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=2)
    slots = world.lease(instances(1), start=1, end=2)
    world.restrict(["alt"], *ALL)
    assert set(world.holds(world.amend(lease, end=world.hour(3)))) == {"cmp-01"}
    assert sum(world.holds(world.amend(slots, end=world.hour(3))).values()) == 1
    with pytest.raises(NotEnoughError):
        world.amend(lease, {"min": 2, "max": 2})
    with pytest.raises(NotEnoughError):
        world.amend(slots, {"amount": 2})


def test_healing_and_swaps_leave_it_alone(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    world.restrict(["alt"], "cmp-02", "cmp-06")
    world.swap(lease, host="cmp-01")
    run_for(world, minutes=5)
    assert set(world.holds(lease)) == {"cmp-07"}
    world.restrict(["alt"], "cmp-01", "gpu-03")
    with pytest.raises(NotEnoughError):
        world.swap(lease, host="cmp-07")
    world.fail("cmp-07")
    run_for(world, minutes=5)
    assert not world.holds(lease).keys() & {"cmp-01", "cmp-02", "cmp-06", "gpu-03"}


def test_leases_that_make_room_go_only_where_their_own_project_may(world: World) -> None:
    world.restrict(["nobody"], "gpu-03")
    mine = world.lease(hosts(1), start=2, end=4, caller=DEMO)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(4), start=2, end=3, caller=ALT)
    world.restrict(["demo"], "gpu-03")
    four = world.lease(hosts(4), start=2, end=3, caller=ALT)
    assert set(world.holds(four)) == set(ALL) - {"gpu-03"}
    assert set(world.holds(mine)) == {"gpu-03"}


def test_a_lease_that_waits_gets_what_its_project_may_have(world: World) -> None:
    world.restrict(["alt"], *ALL)
    waits = world.lease(hosts(1), start=1, end=2, type=LeaseType.RETRY, retry_pause=timedelta(minutes=1), retries=12)
    run_for(world, minutes=5)
    assert not world.holds(waits)
    world.restrict(["demo"], "cmp-06")
    run_for(world, minutes=5)
    assert set(world.holds(waits)) == {"cmp-06"}


def test_availability_and_alarms_count_it_for_its_projects_alone(world: World) -> None:
    world.restrict(["alt"], "cmp-01", "cmp-02")
    question = AvailabilityQuestion(hosts(1), world.hour(1), world.hour(2))
    assert [availability_of(world.service, each, question).total for each in (DEMO, ALT)] == [3, 5]
    for caller in (DEMO, ALT):
        make_alarm(world.service, caller, AlarmDraft(hosts(1), 4, 3600))
    AlarmWatch(world.service).check()
    assert [ALARMS.page(world.service, each)[0].available for each in ("demo", "alt")] == [3, 5]


def test_a_property_that_only_others_have_is_unknown(world: World) -> None:
    (host,) = [each for each in queries.list_resources(world.service, HOST) if each.label == "cmp-07"]
    resource.change(world.service, HOST, host.id, {"secret": "yes"})
    world.restrict(["alt"], "cmp-07")
    asked = hosts(1, resource_properties='["==", "$secret", "yes"]')
    with pytest.raises(InvalidInputError, match=r"No host has a property \$secret"):
        world.lease(asked, start=1, end=2, caller=DEMO)
    assert set(world.holds(world.lease(asked, start=1, end=2, caller=ALT))) == {"cmp-07"}


def test_operators_maintain_it_and_its_lease_moves_to_what_its_project_may_have(world: World) -> None:
    world.restrict(["alt"], "cmp-01", "cmp-07")
    lease = world.lease(hosts(1), start=1, end=2, caller=ALT)
    assert set(world.holds(lease)) == {"cmp-01"}
    world.disable("cmp-02", "cmp-06", "gpu-03")
    world.maintain("cmp-01", start=1, end=2, on_conflict="move")
    assert set(world.holds(lease)) == {"cmp-07"}


def test_addresses_are_for_projects_too(world: World) -> None:
    (address, *_) = sorted(world.holds(world.lease(floating_ips(1), start=8, end=9)))
    world.restrict(["alt"], address)
    assert address not in world.holds(world.lease(floating_ips(1), start=1, end=2, caller=OPERATOR))
    named = floating_ips(1, required_floatingips=[address])
    with pytest.raises(NotEnoughError):
        world.lease(named, start=3, end=4, caller=DEMO)
    assert set(world.holds(world.lease(named, start=3, end=4, caller=ALT))) == {address}
