"""What operators do while hosts sleep: maintenance, other configuration, other machines; and a backup that is old."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, select, update

from leasehold.cloud.sandbox.tables import hypervisors
from leasehold.db.tables import pools, resources
from leasehold.features.power.job import jobs
from leasehold.features.power.machines import get_machine, set_machine, unset_machine, wake_machine
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.rounds import Rounds
from leasehold.features.power.store import sleeps
from leasehold.leasing.resources import resource
from leasehold.model.errors import InUseError
from leasehold.model.resource import HOST, Health
from tests.factory import hosts
from tests.features.power.night import CLASS, HOSTS, USUAL, Night, checked, night

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Night]:
    with night(tmp_path) as made:
        yield made


def hours(site: Night) -> float:
    """Return the moment in hours after the first."""
    return (site.world.now() - site.world.hour(0)) / timedelta(hours=1)


def failure_of(site: Night, name: str) -> str:
    return site.machine(name).failure or ""


def configure(site: Night, settings: PowerSettings) -> None:
    """Start the service again with other settings."""
    service = site.world.service
    site.world = replace(site.world, service=replace(service, settings=service.settings.having(settings)))
    site.rounds = Rounds(site.world.service)


OTHER = replace(USUAL, classes=(replace(CLASS, name="other"),))
"""Settings with another class of machines only."""


def dead_before(site: Night, hour: float) -> str:
    """Let a host whose machine does not wake up lose its lease to another host, and return its name."""
    world = site.world
    lease = world.lease(hosts(1), start=hour, end=hour + 1)
    site.fall_asleep()
    (name,) = world.holds(lease)
    world.cloud.machines.set(name, stuck=True)
    site.run_until(world.hour(hour))
    assert site.stages()[name] == "failed"
    return name


def test_a_host_that_sleeps_is_woken_for_its_maintenance(site: Night) -> None:
    """Nobody switches a machine off, or on, at which somebody works."""
    world = site.world
    site.fall_asleep()
    now = hours(site)
    window = world.maintain("cmp-01", start=now, end=now + 3)
    site.run_for(minutes=5)
    assert site.stages() == {**dict.fromkeys(HOSTS, "asleep"), "cmp-01": "on"}
    assert world.status(window) == "ACTIVE"
    with world.service.db.reading() as connection:
        assert not any(connection.execute(select(sleeps.c.late)).scalars())
    site.run_until(world.hour(now + 2.9))
    assert site.stages()["cmp-01"] == "on"
    site.run_until(world.hour(now + 4))
    assert site.stages()["cmp-01"] == "asleep"
    checked(site)


def test_a_lease_gets_another_host_when_the_class_of_a_sleeping_one_is_not_configured_any_more(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(1), start=6, end=7)
    site.fall_asleep()
    (name,) = world.holds(lease)
    other = next(each for each in HOSTS if each != name)
    wake_machine(world.service, world.host(other).id)
    site.run_for(minutes=5)
    configure(site, OTHER)
    world = site.world
    assert failure_of(site, name) == "Its class 'box' is not configured; name it in [power] classes."
    site.run_until(world.hour(6))
    assert (world.status(lease), world.holds(lease)) == ("ACTIVE", {other: 1})
    assert "Its class 'box' is not configured" in failure_of(site, name)
    assert world.host(name).health is Health.FAILED


def test_it_wakes_up_when_its_class_is_configured_again(site: Night) -> None:
    site.fall_asleep()
    configure(site, OTHER)
    wake_machine(site.world.service, site.world.host("cmp-01").id)
    site.run_for(minutes=2)
    assert site.stages()["cmp-01"] == "waking"
    configure(site, USUAL)
    site.run_for(minutes=5)
    assert site.stages()["cmp-01"] == "on"
    checked(site)


def test_without_any_class_the_leases_of_hosts_that_sleep_are_healed_all_the_same(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(1), start=6, end=7)
    site.fall_asleep()
    (name,) = world.holds(lease)
    other = next(each for each in HOSTS if each != name)
    wake_machine(world.service, world.host(other).id)
    site.run_for(minutes=5)
    configure(site, PowerSettings())
    (job,) = jobs(site.world.service)
    while world.now() < world.hour(6):
        job.run(Event())
        world.clock.advance(seconds=job.every)
    assert world.holds(lease) == {other: 1}


def test_a_machine_that_has_failed_gets_another_address_and_is_tried_again(site: Night) -> None:
    world = site.world
    name = dead_before(site, 4)
    ident = world.host(name).id
    # While it sleeps its address is not changed: that of another machine would be switched off.
    asleep = next(each for each, stage in site.stages().items() if stage == "asleep")
    with pytest.raises(InUseError, match="wake it first"):
        set_machine(world.service, world.host(asleep).id, CLASS.name, "cmp-99", kept_on=False)
    world.cloud.machines.set(name, stuck=False)
    set_machine(world.service, ident, CLASS.name, name, kept_on=True)
    assert wake_machine(world.service, ident).stage == "waking"
    site.run_for(minutes=5)
    found = get_machine(world.service, ident)
    assert (found.stage, found.failure, world.host(name).reservable) == ("on", None, True)
    checked(site)


def test_no_power_is_taken_from_an_address_that_was_not_proved(site: Night) -> None:
    """The new address of a failed machine is that of another one, which is in use."""
    world = site.world
    name = dead_before(site, 4)
    lease = world.lease(hosts(1), start=hours(site) + 1.5, end=hours(site) + 20)
    site.run_for(hours=1.5)
    (used,) = world.holds(lease)
    unset_machine(world.service, world.host(used).id)
    set_machine(world.service, world.host(name).id, CLASS.name, used, kept_on=False)
    assert wake_machine(world.service, world.host(name).id).stage == "waking"
    for _ in range(60):
        site.run_for(minutes=1)
        assert world.cloud.machines.is_on(used)
    assert site.stages()[name] == "failed"
    assert world.status(lease) == "ACTIVE"


def test_a_failed_host_can_be_removed_and_is_open_then(site: Night) -> None:
    world = site.world
    name = dead_before(site, 4)
    resource.remove(world.service, HOST, world.host(name).id)
    site.run_for(minutes=1)
    assert name not in site.stages()
    assert all(each.enabled for each in world.cloud.hypervisors.list() if each.hypervisor_hostname == name)
    assert not world.cloud.providers.claimed({name})
    left = select(sleeps).where(sleeps.c.outcome == "failed", sleeps.c.ready_at.is_(None))
    with world.service.db.reading() as connection:
        assert connection.execute(left).first() is None


def test_a_lease_gets_another_host_when_the_service_of_a_sleeping_one_was_deleted(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(1), start=6, end=7)
    site.fall_asleep()
    (name,) = world.holds(lease)
    world.execute(delete(hypervisors).where(hypervisors.c.service_host == name))
    site.run_until(world.hour(6))
    assert world.status(lease) == "ACTIVE"
    assert world.holds(lease).keys().isdisjoint({name})


@pytest.mark.parametrize("minutes", [20, 21, 35])
def test_a_database_that_went_back_opens_what_was_closed_and_wakes_what_is_off(site: Night, minutes: int) -> None:
    """The backup is from before they were closed, or shut down, or off."""
    world = site.world
    lease = world.lease(hosts(4), start=3, end=4)
    site.run_for(minutes=minutes)
    assert "on" not in site.stages().values()
    world.execute(delete(sleeps))
    awake = {"health": Health.HEALTHY, "waking_seconds": None, "waking_since": None}
    world.execute(update(resources).values(**awake, generation=resources.c.generation + 100))
    world.execute(update(pools).values(generation=pools.c.generation + 100, nonces=""))
    # Nothing may sleep from now on, so nothing but what the backup has missed is done.
    configure(site, replace(USUAL, idle=timedelta(days=1)))
    site.run_for(minutes=40)
    assert set(site.stages().values()) == {"on"}
    assert all(each.enabled for each in world.cloud.hypervisors.list())
    assert all(each.reservable for each in world.listed())
    assert not world.cloud.providers.claimed(HOSTS)
    site.run_until(world.hour(3))
    assert world.status(lease) == "ACTIVE"
    checked(site)
