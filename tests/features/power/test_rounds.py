"""Feature F1: hosts that nobody needs are switched off, and no promise ever waits for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time, timedelta
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, select, update

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import pools, reservations, resources
from leasehold.features.power.drivers.sandbox import SandboxPower
from leasehold.features.power.job import jobs
from leasehold.features.power.machines import set_machine, unset_machine, wake_machine, wake_times
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.rounds import Rounds
from leasehold.features.power.store import awake_since, sleeps, wakes_of
from leasehold.leasing.resources import resource
from leasehold.model.errors import InUseError, NotEnoughError
from leasehold.model.hours import Hours
from leasehold.model.properties import parse
from leasehold.model.resource import HOST, Health
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import AT_ONCE, at_call, dies_at, hosts, instances
from tests.features.power.contract import obeys
from tests.features.power.night import BOOTS, CLASS, HOSTS, SHUTS_DOWN, WAKES, Night, checked, night

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Night]:
    with night(tmp_path) as made:
        yield made


def test_the_machines_of_the_sandbox_obey(site: Night) -> None:
    site.world.cloud.machines.set("cmp-01", seconds=0)
    obeys(SandboxPower(CLASS, site.world.cloud), "cmp-01")


def test_an_idle_host_sleeps_and_is_neither_failed_nor_disabled(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(4), start=12, end=13)
    site.fall_asleep()
    assert not any(world.cloud.machines.is_on(name) for name in HOSTS)
    assert not any(each.up for each in world.cloud.hypervisors.list() if each.hypervisor_hostname in HOSTS)
    site.run_for(hours=2)
    assert world.holds(lease) == dict.fromkeys(HOSTS, 1)
    assert not world.get(lease).at_risk
    assert all(each.reservable for each in world.listed())
    checked(site)


def test_it_wakes_up_in_time_for_its_lease(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(2), start=6, end=7)
    site.fall_asleep()
    site.run_until(world.hour(6))
    assert world.status(lease) == "ACTIVE"
    assert sorted(site.stages().values()) == ["asleep", "asleep", "on", "on"]
    assert all(site.stages()[name] == "on" for name in world.holds(lease))
    server = world.boot(lease)
    assert server.service_host in world.holds(lease)
    checked(site)
    site.run_until(world.hour(7.75))
    assert world.status(lease) == "TERMINATED"
    assert set(site.stages().values()) == {"asleep"}
    checked(site)


def test_what_is_asked_for_now_is_offered_as_soon_as_it_is_ready(site: Night) -> None:
    world = site.world
    site.fall_asleep()
    ready = site.machine("cmp-01").ready_at
    assert ready == world.now() + WAKES + timedelta(seconds=10)
    hours = (world.now() - world.hour(0)) / timedelta(hours=1)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(3), start=hours, end=hours + 1)
    nearest = datetime.fromisoformat(refused.value.details["nearest"]["start"])
    minute = timedelta(minutes=1)
    assert ready <= nearest < ready + minute, nearest
    begin = (nearest - world.hour(0)) / timedelta(hours=1)
    lease = world.lease(hosts(3), start=begin, end=begin + 1)
    with pytest.raises(NotEnoughError):
        world.lease(instances(1), start=begin - 1 / 30, end=begin + 1)
    site.run_until(nearest)
    assert world.status(lease) == "ACTIVE"
    checked(site)


def test_a_host_is_ready_while_it_wakes_as_soon_as_was_said(site: Night) -> None:
    world = site.world
    site.fall_asleep()
    wake_machine(world.service, world.host("cmp-01").id)
    woken = world.now()
    world.clock.advance(minutes=5)
    hour = timedelta(hours=1)
    begin = (woken + WAKES + timedelta(minutes=1) - world.hour(0)) / hour
    lease = world.lease(hosts(), start=begin, end=begin + 1)
    assert world.holds(lease) == {"cmp-01": 1}
    site.run_until(world.hour(begin))
    assert world.status(lease) == "ACTIVE"


def test_a_machine_that_never_comes_up_is_replaced_before_the_start(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(1), start=6, end=7)
    site.fall_asleep()
    (first,) = world.holds(lease)
    world.cloud.machines.set(first, stuck=True)
    site.run_until(world.hour(6) - timedelta(seconds=1))
    assert world.holds(lease).keys().isdisjoint({first})
    found = site.machine(first)
    assert (found.stage, world.host(first).health) == ("failed", Health.FAILED)
    assert "has not come up" in (found.machine.failure or "")
    # It stays closed until it is up, and that is as it should be.
    checked(site)
    site.run_until(world.hour(6))
    assert world.status(lease) == "ACTIVE"
    # Somebody repairs it: it is opened, and admitted by the health check, but sleeps no more until that is said.
    world.cloud.machines.set(first, stuck=False)
    world.cloud.machines.switch_on(first)
    site.run_for(minutes=10)
    assert (site.stages()[first], world.host(first).health) == ("on", Health.HEALTHY)
    assert world.host(first).reservable
    site.run_for(hours=2)
    assert site.stages()[first] == "on"
    checked(site)
    set_machine(world.service, world.host(first).id, CLASS.name, first, kept_on=False)
    site.run_for(hours=1)
    assert site.stages()[first] == "asleep"


def test_a_machine_that_comes_up_at_the_second_try_is_in_time(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(4), start=6, end=7)
    site.fall_asleep()
    world.cloud.faults.set(Fault("machines.switch_on", error="before", remaining=4 * 55))
    site.run_until(world.hour(6))
    assert world.status(lease) == "ACTIVE"
    assert world.holds(lease) == dict.fromkeys(HOSTS, 1)


def test_a_machine_that_does_not_shut_down_is_switched_off(site: Night) -> None:
    site.world.cloud.machines.set("cmp-01", seconds=3600)
    site.run_for(minutes=20, seconds=10)
    assert site.stages()["cmp-01"] == "stopping"
    site.run_for(seconds=SHUTS_DOWN.total_seconds() + 30)
    assert site.stages()["cmp-01"] == "asleep"


def test_a_machine_that_cannot_be_switched_stays_on_and_open(site: Night) -> None:
    world = site.world
    world.cloud.machines.set("cmp-01", stuck=True)
    site.run_for(hours=1)
    found = site.machine("cmp-01")
    assert (found.stage, found.machine.failure) == (
        "on",
        "It could not be switched off: It stays on, whatever it is told.",
    )
    assert world.host("cmp-01").reservable
    checked(site)
    site.run_for(hours=1)
    assert site.stages()["cmp-01"] == "on"


def test_a_host_with_servers_stays_on(site: Night) -> None:
    world = site.world
    world.with_preemptibles()
    server = world.cloud.servers.boot("spot", "alt", "m1.small", preemptible=True)
    name = str(server.service_host)
    for _ in range(60):
        site.run_for(minutes=1)
        # It is not even closed, which would keep others away for a while, again and again.
        assert (site.stages()[name], world.host(name).health) == ("on", Health.HEALTHY)
    assert server.id in world.servers()
    checked(site)
    world.cloud.servers.delete(server.id)
    site.run_for(minutes=30)
    assert site.stages()[name] == "asleep"


def test_a_server_that_comes_while_its_host_is_closed_keeps_it_on(site: Night) -> None:
    world = site.world
    world.with_preemptibles()
    servers = world.cloud.servers
    for other in HOSTS[1:]:
        unset_machine(world.service, world.host(other).id)

    def boot() -> None:
        booted = [servers.boot("spot", "alt", "m1.small", preemptible=True) for _ in HOSTS]
        assert {each.service_host for each in booted} == set(HOSTS)

    while not at_call(world, 1, site.step, boot, "hypervisors.disable"):
        world.clock.advance(seconds=10)
    site.run_for(minutes=40)
    assert site.stages() == {HOSTS[0]: "on"}
    assert len(world.servers()) == len(HOSTS)
    checked(site)


def test_what_is_promised_while_it_falls_asleep_is_kept(site: Night) -> None:
    """A lease far enough ahead may be granted at any moment; the machine is back in time."""
    world = site.world
    site.run_for(minutes=20)
    assert set(site.stages().values()) <= {"closing", "stopping"}
    ready = site.machine("cmp-01").ready_at
    assert ready is not None
    # It may have to be switched off, and Nova may notice that after a minute.
    assert ready - world.now() >= SHUTS_DOWN + timedelta(minutes=1) + WAKES
    begin = (ready - world.hour(0)) / timedelta(hours=1) + 1 / 60
    lease = world.lease(hosts(4), start=begin, end=begin + 1)
    site.run_until(world.hour(begin))
    assert world.status(lease) == "ACTIVE"


def test_a_machine_that_is_woken_while_it_shuts_down_has_all_its_time_to_boot(tmp_path: Path) -> None:
    """It is off after two minutes, and boots within the three that it has, though not within three from the wake on."""
    with night(tmp_path, wake_default=timedelta(minutes=3)) as site:
        service = site.world.service
        site.run_for(minutes=20, seconds=20)
        assert site.stages()["cmp-01"] == "stopping"
        wake_machine(service, site.world.host("cmp-01").id)
        site.run_for(minutes=5)
        assert site.stages()["cmp-01"] == "on"
        with service.db.reading() as connection:
            assert connection.execute(select(sleeps.c.cycled_at).where(sleeps.c.outcome.is_not(None))).all() == [
                (None,)
            ]
            (took,) = wakes_of(connection, CLASS.name)
        assert took <= timedelta(seconds=BOOTS + 20)


@pytest.mark.parametrize("number", range(1, 12))
def test_whoever_dies_at_any_call_the_next_one_goes_on(site: Night, number: int) -> None:
    world = site.world
    lease = world.lease(hosts(1), start=4, end=5)
    (name,) = world.holds(lease)
    for other in set(HOSTS) - {name}:
        unset_machine(world.service, world.host(other).id)
    site.run_for(minutes=19, seconds=50)
    left = number
    while world.now() < world.hour(4):
        world.clock.advance(seconds=10)
        if left and dies_at(world, left, site.rounds.run):
            left = 0
        site.step()
    assert world.status(lease) == "ACTIVE"
    assert world.holds(lease) == {name: 1}
    checked(site)


def test_margins_are_learned(tmp_path: Path) -> None:
    with night(tmp_path, least_off=timedelta(0), idle=timedelta(minutes=1)) as site:
        service = site.world.service
        assert wake_times(service) == {"box": WAKES + timedelta(seconds=10)}
        for _ in range(3):
            site.run_for(minutes=20)
            assert set(site.stages().values()) == {"asleep"}
            for name in HOSTS:
                wake_machine(service, site.world.host(name).id)
            site.run_for(minutes=3)
        # They take 120 seconds, which is seen at a round.
        found = wake_times(service)["box"] - timedelta(seconds=10)
        assert timedelta(seconds=1.25 * 120) <= found <= timedelta(seconds=1.25 * 140)


def test_spares_stay_on_and_wake_up_for_others(tmp_path: Path) -> None:
    with night(tmp_path, spares=1, spares_by=("rack",)) as site:
        world = site.world
        for name in HOSTS:
            rack = "a" if name in HOSTS[:2] else "b"
            resource.change(world.service, HOST, world.host(name).id, {"rack": rack})
        site.run_for(hours=1)
        assert site.stages() == {"cmp-01": "on", "cmp-02": "asleep", "cmp-06": "on", "cmp-07": "asleep"}
        hours = (world.now() - world.hour(0)) / timedelta(hours=1)
        world.active(hosts(1), start=hours, end=hours + 5)
        site.run_for(minutes=10)
        assert sorted(site.stages().values()) == ["asleep", "on", "on", "on"]


def test_nothing_sleeps_in_awake_hours_or_if_it_is_to_stay_on(tmp_path: Path) -> None:
    day = Hours(frozenset(range(7)), time(8), time(12))
    with night(tmp_path, awake_hours=(day,), keep_on=parse('["==", "$hypervisor_hostname", "cmp-06"]', "")) as site:
        # It is nine o'clock.
        site.run_until(site.world.hour(2.9))
        assert set(site.stages().values()) == {"on"}
        site.run_until(site.world.hour(3.2))
        assert site.stages() == {"cmp-01": "asleep", "cmp-02": "asleep", "cmp-06": "on", "cmp-07": "asleep"}


def test_one_that_woke_up_stays_on_for_a_while_and_what_was_long_ago_is_not_read(tmp_path: Path) -> None:
    with night(tmp_path, least_on=timedelta(hours=2)) as site:
        world, host = site.world, site.world.host("cmp-01")
        site.run_for(minutes=30)
        assert set(site.stages().values()) == {"asleep"}
        wake_machine(world.service, host.id)
        site.run_for(minutes=110)
        assert site.stages()["cmp-01"] == "on"
        with world.service.db.reading() as connection:
            known = awake_since(connection, world.now() - timedelta(hours=2))
            assert list(known) == [host.number]
            assert awake_since(connection, known[host.number]) == {}
        site.run_for(minutes=30)
        assert site.stages()["cmp-01"] == "asleep"


def test_a_host_that_sleeps_is_not_moved_or_removed(site: Night) -> None:
    world = site.world
    site.fall_asleep()
    host = world.host("cmp-01")
    with pytest.raises(InUseError, match="is asleep"):
        world.move("cmp-01", "shared")
    with pytest.raises(InUseError, match="is asleep"):
        resource.remove(world.service, HOST, host.id)
    with pytest.raises(InUseError, match="wake it first"):
        unset_machine(world.service, host.id)
    wake_machine(world.service, host.id)
    site.run_for(minutes=5)
    resource.remove(world.service, HOST, host.id)


def test_few_machines_are_switched_at_once_but_no_start_waits(tmp_path: Path) -> None:
    names = ("cmp-01", "cmp-02", "cmp-05", "cmp-06", "cmp-07", "cmp-09")
    with night(tmp_path, names, at_once=2) as site:
        world = site.world
        lease = world.lease(hosts(6), start=8, end=9)
        for _ in range(12):
            site.run_for(minutes=5)
            under_way = [each for each in site.stages().values() if each not in ("on", "asleep")]
            assert len(under_way) <= 2
        assert set(site.stages().values()) == {"asleep"}
        site.run_until(world.hour(8))
        assert world.status(lease) == "ACTIVE"


def test_a_machine_whose_address_is_another_ones_is_noticed_and_that_is_switched_on_again(tmp_path: Path) -> None:
    """Nobody can know it before; but it happens once, and the host that was switched off by mistake comes back."""
    with night(tmp_path) as site:
        world = site.world
        lease = world.active(instances(1), end=20)
        (used,) = world.holds(lease)
        other = next(name for name in HOSTS if name != used)
        for name in HOSTS:
            unset_machine(world.service, world.host(name).id)
        set_machine(world.service, world.host(other).id, CLASS.name, used, kept_on=False)
        site.run_for(minutes=40)
        assert world.cloud.machines.is_on(used)
        found = site.machine(other)
        assert (found.stage, found.machine.failure) == (
            "on",
            "It could not be switched off: Its address switches another machine.",
        )
        assert world.host(other).reservable
        site.run_for(hours=2)
        assert world.cloud.machines.is_on(used)


def test_no_power_is_taken_from_a_host_that_somebody_has_opened(site: Night) -> None:
    world = site.world
    for name in HOSTS:
        world.cloud.machines.set(name, seconds=7200)
    site.run_for(minutes=21)
    assert site.stages()["cmp-01"] == "stopping"
    host = world.host("cmp-01")
    host_type = world.service.types.get(HOST)
    host_type.driver.reopen(world.cloud, host.attributes)  # type: ignore[attr-defined]  # hosts can be opened
    world.with_preemptibles()
    server = world.cloud.servers.boot("spot", "alt", "m1.small", preemptible=True)
    assert server.service_host == "cmp-01"
    site.run_for(minutes=10)
    assert world.cloud.machines.is_on("cmp-01")
    assert server.id in world.servers()
    assert "It has 1 server." in (site.machine("cmp-01").machine.failure or "")


@pytest.mark.parametrize("verb", ["hypervisors.disable", "providers.claim_rest", "servers.on_host"])
def test_of_two_managers_none_shuts_down_what_the_other_one_opens(site: Night, verb: str) -> None:
    world = site.world
    for name in HOSTS[1:]:
        unset_machine(world.service, world.host(name).id)
    site.run_for(minutes=20)
    assert site.stages() == {"cmp-01": "closing"}
    other = Rounds(world.service)

    def meanwhile() -> None:
        wake_machine(world.service, world.host("cmp-01").id)
        other.run()

    # The first one is about to close the host, or has closed it, when the other one opens it.
    assert at_call(world, 1, site.rounds.run, meanwhile, verb)
    assert all(each.enabled for each in world.cloud.hypervisors.list())
    assert not world.cloud.providers.claimed(HOSTS)
    site.run_for(minutes=5)
    assert site.stages() == {"cmp-01": "on"}
    assert world.cloud.machines.is_on("cmp-01")
    checked(site)


@pytest.mark.parametrize("hours", [1.25, 6])
def test_a_database_that_went_back_finds_those_that_sleep(site: Night, hours: float) -> None:
    """A backup from before they fell asleep says that they are on; they are down, and closed by us.

    Those that may sleep are put to sleep again, and are so already; the others are woken.
    """
    world = site.world
    lease = world.lease(hosts(4), start=hours, end=7)
    site.fall_asleep()
    world.execute(delete(sleeps))
    awake = {"health": Health.HEALTHY, "waking_seconds": None, "waking_since": None}
    world.execute(update(resources).values(**awake, generation=resources.c.generation + 100))
    world.execute(update(pools).values(generation=pools.c.generation + 100, nonces=""))
    site.run_for(minutes=10)
    assert set(site.stages().values()) == {"on" if hours < 2 else "asleep"}
    assert all(each.reservable for each in world.listed())
    site.run_until(world.hour(hours))
    assert world.status(lease) == "ACTIVE"
    checked(site)


def test_hosts_that_sleep_without_anybody_to_wake_them_are_complained_of(site: Night) -> None:
    site.fall_asleep()
    nobody = replace(site.world.service, settings=site.world.service.settings.having(PowerSettings()))
    (job,) = jobs(nobody)
    assert job.run(Event()) == len(HOSTS)
    (job,) = jobs(site.world.service)
    assert job.turn is not None


def test_a_lease_that_waits_for_hosts_gets_those_that_sleep(site: Night) -> None:
    """It would begin at once, so nothing is promised it while they are off; they are woken because it waits."""
    world = site.world
    site.fall_asleep()
    now = (world.now() - world.hour(0)) / timedelta(hours=1)
    until = world.hour(now + 2)
    lease = world.lease(hosts(3), start=now, end=now + 1, type=LeaseType.WAITLIST, deadline=until)
    assert world.status(lease) == "IN_PROGRESS"
    site.run_for(minutes=15)
    assert (world.status(lease), len(world.holds(lease))) == ("ACTIVE", 3)
    site.run_for(hours=3)
    assert set(site.stages().values()) == {"asleep"}


def _waits(site: Night, *parts: dict[str, Any], hours: float = 1) -> Lease:
    """Ask for a lease of one hour that may wait for as many; the next one asks after it."""
    site.world.clock.advance(microseconds=1)
    now = (site.world.now() - site.world.hour(0)) / timedelta(hours=1)
    until = site.world.hour(now + hours + 1)
    return site.world.lease(*parts, start=now, end=now + 1, type=LeaseType.WAITLIST, deadline=until)


def test_a_lease_that_waits_gets_hosts_that_are_cleaned_and_prepared_too(tmp_path: Path) -> None:
    cleaned = replace(
        AT_ONCE.leases,
        cleaning_time=timedelta(minutes=20),
        lead_time_by_type={HOST: timedelta(minutes=5)},
        rebinding_seconds=0,
    )
    with night(tmp_path, leases=cleaned) as site:
        site.fall_asleep()
        lease = _waits(site, hosts(3))
        site.run_for(minutes=50)
        assert (site.world.status(lease), len(site.world.holds(lease))) == ("ACTIVE", 3)


def _forget_its_type(site: Night, lease: Lease) -> None:
    with site.world.service.db.engine.begin() as connection:
        connection.execute(
            update(reservations).where(reservations.c.lease_id == lease.id).values(resource_type="gone:x")
        )


def test_a_lease_whose_plugin_is_gone_keeps_no_machine_asleep(site: Night) -> None:
    """It waits first; neither the next one that waits nor a lease that was promised is the worse for that."""
    world = site.world
    site.fall_asleep()
    broken = _waits(site, hosts(1))
    _forget_its_type(site, broken)
    lease = _waits(site, hosts(1))
    promised = world.lease(hosts(3), start=2, end=3)
    site.run_for(minutes=15)
    assert world.status(lease) == "ACTIVE"
    site.run_until(world.hour(2))
    assert world.status(promised) == "ACTIVE"


def test_a_lease_that_waits_in_vain_wakes_nothing(site: Night) -> None:
    """Two of four hosts are in use until after its deadline, so it could not have three if the others were on."""
    world = site.world
    others = world.active(hosts(2), start=0, end=9)
    site.run_for(minutes=40)
    vain = _waits(site, hosts(3))
    site.run_for(minutes=30)
    assert world.status(vain) == "IN_PROGRESS"
    assert {name for name, stage in site.stages().items() if stage == "asleep"} == set(HOSTS) - set(world.holds(others))


def test_a_lease_that_waits_wakes_the_hosts_that_it_would_get(site: Night) -> None:
    """Another one that comes after it, and would have none of what is left, wakes none."""
    world = site.world
    site.fall_asleep()
    only = "cmp-07"
    lease = _waits(site, hosts(1, hypervisor_properties=f'["==", "$hypervisor_hostname", "{only}"]'))
    vain = _waits(site, hosts(4))
    site.run_for(minutes=15)
    assert (world.status(lease), set(world.holds(lease))) == ("ACTIVE", {only})
    assert world.status(vain) == "IN_PROGRESS"
    assert {name for name, stage in site.stages().items() if stage != "asleep"} == {only}


def test_a_lease_that_waits_and_could_not_end_before_a_promise_wakes_nothing(site: Night) -> None:
    """The hosts would be free now, but when they are on the next lease comes too soon."""
    world = site.world
    site.fall_asleep()
    now = (world.now() - world.hour(0)) / timedelta(hours=1)
    world.lease(hosts(4), start=now + 1.1, end=now + 3)
    vain = _waits(site, hosts(1), hours=2)
    site.run_for(minutes=20)
    assert world.status(vain) == "IN_PROGRESS"
    assert set(site.stages().values()) == {"asleep"}
