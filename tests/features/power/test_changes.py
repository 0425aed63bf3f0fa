"""What operators do while hosts sleep: maintenance, other configuration, other machines; and a backup that is old."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, select

from leasehold.cloud.sandbox.tables import hypervisors
from leasehold.features.power.store import sleeps
from tests.factory import hosts
from tests.features.power.night import HOSTS, Night, checked, night

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


def test_a_lease_gets_another_host_when_the_service_of_a_sleeping_one_was_deleted(site: Night) -> None:
    world = site.world
    lease = world.lease(hosts(1), start=6, end=7)
    site.fall_asleep()
    (name,) = world.holds(lease)
    world.execute(delete(hypervisors).where(hypervisors.c.service_host == name))
    site.run_until(world.hour(6))
    assert world.status(lease) == "ACTIVE"
    assert world.holds(lease).keys().isdisjoint({name})
