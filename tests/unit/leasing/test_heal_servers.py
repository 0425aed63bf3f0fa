"""A host failure deletes no server; a failed host is not reallocated while it has servers (resources §7.3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete

from leasehold.cloud.sandbox.tables import hypervisors
from leasehold.conf.settings import ManagerSettings, Settings
from leasehold.manager.monitor import check_once
from leasehold.model.errors import InUseError, NotEnoughError
from tests.factory import ALT, flavors, hosts, instances, make_service, run_for, run_manager, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_heal import flags
from tests.unit.leasing.test_heal_missing import only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.ports import Server
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

POLLED = Settings(manager=ManagerSettings(health_seconds=60))
ONLY_CMP_01 = '["==", "$hypervisor_hostname", "cmp-01"]'


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[World]:
    """Yield a world in which a host counts as failed once it is down for two polls, a minute apart: the default."""
    with make_service(tmp_path, settings=POLLED, hosts=["cmp-01", "cmp-02"]) as world:
        yield world


def active(world: World, end: float = 2, least: int = 1) -> tuple[Lease, Server]:
    """Return an active lease of at least `least` hosts, among them cmp-01, and its owner's server on cmp-01."""
    lease = world.active(hosts(least), start=0, end=end)
    while not world.cloud.servers.on_host("cmp-01"):
        world.cloud.servers.boot("work", "demo", "m1.small", [lease.reservations[0].id])
    world.clock.advance(minutes=10)
    (server,) = world.cloud.servers.on_host("cmp-01")
    return lease, server


def bookable(world: World, name: str) -> bool:
    found = {host.label: host for host in world.listed()}
    return found[name].reservable


# ---------------------------------------------------------------- failed, disabled, and neither


def test_a_host_that_is_down_for_a_moment_keeps_its_lease_and_its_servers(patient: World) -> None:
    lease, server = active(patient)
    patient.fail("cmp-01")
    run_manager(patient)
    assert not bookable(patient, "cmp-01")
    patient.clock.advance(seconds=4)
    patient.recover("cmp-01")
    run_for(patient, minutes=5)
    assert patient.holds(lease) == {"cmp-01": 1}
    assert patient.servers() == {server.id}
    assert bookable(patient, "cmp-01")
    assert not patient.get(lease).degraded


def test_a_host_has_failed_when_it_was_down_for_the_whole_grace_whoever_looks(patient: World) -> None:
    """The time of the failure is in the database, so another or restarted manager continues the count."""
    lease, server = active(patient)
    patient.fail("cmp-01")
    patient.clock.advance(seconds=119)
    check_once(replace(patient.service))
    assert patient.holds(lease) == {"cmp-01": 1}
    patient.clock.advance(seconds=1)
    check_once(replace(patient.service))
    assert patient.holds(lease) == {"cmp-02": 1}
    run_for(patient, minutes=5)
    assert patient.servers() == {server.id}


def test_a_host_that_comes_back_in_between_begins_anew(patient: World) -> None:
    lease, _ = active(patient)
    for _ in range(4):
        patient.fail("cmp-01")
        patient.clock.advance(seconds=100)
        patient.recover("cmp-01")
        patient.clock.advance(seconds=1)
    assert patient.holds(lease) == {"cmp-01": 1}


def test_a_disabled_host_is_promised_to_nobody_and_keeps_all_that_it_has(patient: World) -> None:
    lease, server = active(patient, end=2)
    later = patient.lease(hosts(resource_properties=ONLY_CMP_01), start=2, end=3, caller=ALT)
    patient.cloud.hypervisors.set_health("cmp-01", enabled=False)
    for _ in range(10):
        check_once(patient.service)
        run_for(patient, minutes=1)
    assert not bookable(patient, "cmp-01")
    assert patient.servers() == {server.id}
    assert patient.holds(lease) == {"cmp-01": 1}
    assert not patient.get(lease).degraded
    with pytest.raises(NotEnoughError):
        patient.lease(hosts(resource_properties=ONLY_CMP_01), start=4, end=5)
    run_until(patient, patient.hour(2.1))
    assert patient.status(later) == "ACTIVE"
    assert patient.members(later.reservations[0].id) == {"cmp-01"}
    patient.recover("cmp-01")
    assert patient.lease(hosts(resource_properties=ONLY_CMP_01), start=4, end=5)


def test_a_lease_on_a_disabled_host_is_prolonged_where_it_is(patient: World) -> None:
    lease, server = active(patient, end=1)
    patient.cloud.hypervisors.set_health("cmp-01", enabled=False)
    check_once(patient.service)
    patient.amend(lease, end=4)
    run_for(patient, hours=2)
    assert patient.holds(lease) == {"cmp-01": 1}
    assert patient.servers() == {server.id}


def test_a_hypervisor_that_is_missing_is_neither_failed_nor_recovered(patient: World) -> None:
    lease, _ = active(patient)
    patient.fail("cmp-01")
    patient.execute(delete(hypervisors).where(hypervisors.c.hypervisor_hostname == "cmp-01"))
    patient.clock.advance(minutes=30)
    check_once(patient.service)
    assert patient.holds(lease) == {"cmp-01": 1}
    assert not bookable(patient, "cmp-01")


@pytest.mark.parametrize("first", [True, False])
def test_hosts_of_several_cells_are_told_apart_though_their_numbers_repeat(world: World, *, first: bool) -> None:
    """Nova lists the hypervisors of all cells; an id may be there twice, a hostname may not."""
    lease, server = active(world)
    healthy = world.cloud.hypervisors.find("cmp-01")
    assert healthy is not None
    other = replace(healthy, hypervisor_hostname="other-cell", service_host="other-cell", up=False)

    class TwoCells:
        def list(self) -> list[object]:
            mine = world.cloud.hypervisors.list()
            return [other, *mine] if first else [*mine, other]

    cloud = replace(world.service.cloud, hypervisors=TwoCells())  # type: ignore[arg-type]
    check_once(replace(world.service, cloud=cloud))
    run_for(world, minutes=5)
    assert world.holds(lease) == {"cmp-01": 1}
    assert world.servers() == {server.id}


# ---------------------------------------------------------------- servers on a failed host


def refused_to_others(world: World, start: float, end: float) -> None:
    with pytest.raises(NotEnoughError):
        world.lease(hosts(resource_properties=ONLY_CMP_01), start=start, end=end, caller=ALT)


def test_healing_leaves_the_servers_alone_and_the_host_to_nobody_until_they_are_gone(world: World) -> None:
    """The lease does not take the host back when it is prolonged, and keeps it closed until its new end."""
    lease, server = active(world)
    own = lease.reservations[0].id
    world.fail("cmp-01")
    run_for(world, minutes=5)
    assert world.members(own) == {"cmp-01", "cmp-02"}
    assert world.holds(lease) == {"cmp-02": 1}
    found = world.get(lease)
    assert (found.status, found.status_reason, found.degraded) == ("ACTIVE", None, True)
    world.recover("cmp-01")
    refused_to_others(world, 1, 1.5)
    world.amend(lease, end=4)
    refused_to_others(world, 3, 3.5)
    assert findings(world) == []
    run_for(world, minutes=5)
    assert (world.holds(lease), world.servers()) == ({"cmp-02": 1}, {server.id})
    audit(world)
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=3)
    assert world.members(own) == {"cmp-02"}
    assert "cmp-01" in world.members("freepool")
    assert world.lease(hosts(resource_properties=ONLY_CMP_01), start=1, end=1.5, caller=ALT)
    audit(world)


def test_without_a_spare_host_nothing_is_deleted_and_the_reservation_takes_its_own_host_back(world: World) -> None:
    lease, _ = active(world, least=5)
    before = world.servers()
    world.fail("cmp-01")
    run_for(world, minutes=5)
    assert world.servers() == before
    assert world.part(lease).missing_resources
    assert world.status(lease) == "ACTIVE"
    world.recover("cmp-01")
    world.amend(lease, end=2.5)
    run_for(world, minutes=5)
    assert len(world.members(lease.reservations[0].id)) == len(world.holds(lease)) == 5
    part = world.part(lease)
    assert (part.missing_resources, part.resources_changed, world.get(lease).degraded) == (False, False, False)
    assert world.servers() == before
    audit(world)
    run_until(world, world.hour(3))
    assert world.servers() == set()


@pytest.mark.parametrize("asked", [hosts(), instances(4, 2)], ids=["host", "slots"])
@pytest.mark.parametrize("way", ["end", "delete"])
def test_the_end_of_the_lease_clears_the_host_that_failed_too(world: World, asked: dict[str, Any], way: str) -> None:
    lease = world.active(asked, end=0.5)
    assert world.boot(lease).service_host == "cmp-01"
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    run_for(world, minutes=15)
    assert len(world.servers()) == 1
    if way == "delete":
        world.delete(lease)
        run_for(world, minutes=1)
    run_until(world, world.hour(0.6))
    assert world.exists(lease) is (way == "end")
    assert world.servers() == set()
    assert "cmp-01" in world.members("freepool")
    assert world.cloud.providers.inventories("blazar_cmp-01") == {}
    world.recover("cmp-01")
    assert world.lease(hosts(resource_properties=ONLY_CMP_01), start=1.5, end=2, caller=ALT)


def test_a_longer_lease_is_refused_where_the_occupied_host_is_promised_to_others(world: World) -> None:
    lease, server = active(world, end=2)
    world.fail("cmp-01")
    run_for(world, minutes=5)
    world.recover("cmp-01")
    other = world.lease(hosts(resource_properties=ONLY_CMP_01), start=2, end=3, caller=ALT)
    with pytest.raises(InUseError, match="Delete those servers"):
        world.amend(lease, end=2.5)
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=3)
    world.amend(lease, end=2.5)
    run_until(world, world.hour(2.1))
    assert world.status(other) == "ACTIVE"


def test_a_shorter_lease_gives_the_occupied_host_back_sooner(world: World) -> None:
    lease, _ = active(world, end=4)
    world.fail("cmp-01")
    run_for(world, minutes=5)
    world.recover("cmp-01")
    world.amend(lease, end=1)
    other = world.lease(hosts(resource_properties=ONLY_CMP_01), start=1, end=3, caller=ALT)
    run_until(world, world.hour(1.1))
    assert world.status(other) == "ACTIVE"


def test_occupied_hosts_are_looked_at_at_a_bounded_pace(world: World) -> None:
    lease, _ = active(world, end=10)
    world.fail("cmp-01")
    before = world.now()
    looks = 0
    while world.now() < before + timedelta(hours=1):
        looks += run_manager(world)
        world.clock.advance(seconds=1)
    assert world.status(lease) == "ACTIVE"
    assert 50 <= looks <= 80


# ---------------------------------------------------------------- instances


@pytest.mark.parametrize("asked", [instances(2), flavors(2), hosts()], ids=["instance", "flavor", "host"])
def test_a_host_that_works_again_is_taken_back_with_its_servers(world: World, asked: dict[str, Any]) -> None:
    """No other host is free; the slot beside the server is of use again."""
    world.active(only("cmp-02", "cmp-06", "cmp-07", "gpu-03", least=4), end=2)
    lease = world.active(asked, end=2)
    before, server = world.holds(lease), world.boot(lease)
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    run_for(world, seconds=8)
    assert (world.holds(lease), flags(world, lease)) == ({}, (True, False, True))
    world.recover("cmp-01")
    run_for(world, minutes=1)
    assert (world.holds(lease), flags(world, lease)) == (before, (False, False, False))
    assert world.boot(lease).service_host == server.service_host
    assert len(world.servers()) == 2
    audit(world)
    assert findings(world) == []


@pytest.fixture
def halved(world: World) -> Lease:
    """Return a lease of four slots with three servers on cmp-01, which has two of the slots again, and cmp-02 two."""
    lease = world.active(instances(4, 2), end=2)
    world.active(only("cmp-06", "cmp-07", "gpu-03", least=3), end=4)
    world.active(instances(2, 2, resource_properties='["==", "$hypervisor_hostname", "cmp-02"]'), end=4)
    for _ in range(3):
        world.boot(lease)
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    assert world.holds(lease) == {"cmp-02": 2}
    run_for(world, minutes=5)
    world.recover("cmp-01")
    run_for(world, minutes=5)
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-02": 2, "cmp-01": 2}, (False, True, True))
    return lease


def test_what_does_not_come_back_of_a_host_goes_to_nobody_while_it_may_have_servers(
    world: World, halved: Lease
) -> None:
    beside = instances(2, 2, resource_properties=ONLY_CMP_01)
    with pytest.raises(NotEnoughError):
        world.lease(beside, start=1, caller=ALT, end=2)
    assert {world.boot(halved).service_host for _ in range(2)} == {"cmp-02"}
    assert world.cloud.servers.boot("more", "demo", halved.reservations[0].id).status == "ERROR"
    audit(world)
    assert findings(world) == []
    world.cloud.servers.delete(world.cloud.servers.on_host("cmp-01")[0].id)
    run_for(world, minutes=3)
    assert world.lease(beside, start=1, end=2, caller=ALT)
    audit(world)


def test_an_amendment_counts_the_servers_on_a_host_of_which_a_part_came_back(world: World, halved: Lease) -> None:
    later = world.lease(instances(1, 2, resource_properties=ONLY_CMP_01), start=2, end=3, caller=ALT)
    with pytest.raises(InUseError, match="Delete those servers"):
        world.amend(halved, end=2.5)
    world.delete(later)
    world.amend(halved, end=2.5)
    assert world.holds(halved) == {"cmp-02": 2, "cmp-01": 2}
    world.amend(halved, {"amount": 5})
    assert world.holds(halved) == {"cmp-02": 2, "cmp-01": 3}
    run_for(world, minutes=1)
    audit(world)
    assert findings(world) == []
    world.amend(halved, {"amount": 6})
    run_for(world, minutes=1)
    assert world.boot(halved).service_host
    assert flags(world, halved) == (False, True, True)
    audit(world)
    assert findings(world) == []
    run_until(world, world.hour(2.6))
    assert world.servers() == set()
    audit(world)


def test_instances_move_and_their_servers_stay_where_they_were(world: World) -> None:
    lease = world.active(instances(4, 2), end=2)
    own, server = lease.reservations[0].id, world.boot(lease)
    assert server.service_host == "cmp-01"
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    run_for(world, minutes=5)
    assert world.servers() == {server.id}
    assert world.holds(lease) == {"cmp-02": 4}
    assert world.members(own) == {"cmp-02"}
    (closed,) = world.cloud.providers.inventories("blazar_cmp-01").values()
    (there,) = world.cloud.providers.inventories("blazar_cmp-02").values()
    assert (closed.capacity, there.total) == (0, 4)
    assert (world.get(lease).status, world.get(lease).status_reason) == ("ACTIVE", None)
    world.recover("cmp-01")
    assert {world.boot(lease).service_host for _ in range(4)} == {"cmp-02"}
    assert world.cloud.servers.boot("one too many", "demo", own).status == "ERROR"
    assert findings(world) == []
    refused_to_others(world, 1, 1.5)
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=3)
    assert world.cloud.providers.inventories("blazar_cmp-01") == {}
    assert world.lease(hosts(resource_properties=ONLY_CMP_01), start=1, end=1.5, caller=ALT)
    audit(world)
