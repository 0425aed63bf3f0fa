"""The machines under the sandbox's hosts: they take their time, and may be stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudPermanentError, ServiceReport
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.db.engine import open_engine
from tests.factory import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.sandbox.cloud import SandboxCloud

NAME = "cmp-01"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cloud(tmp_path: Path, clock: Clock) -> Iterator[SandboxCloud]:
    engine = open_engine(f"sqlite:///{tmp_path / 'sandbox.db'}")
    seed.plant(engine)
    yield sandbox(engine, clock=clock.now)
    engine.dispose()


def is_up(cloud: SandboxCloud) -> bool:
    found = cloud.hypervisors.find(NAME)
    assert found is not None
    assert found in cloud.hypervisors.list()
    assert cloud.hypervisors.report(NAME).up is found.up
    return found.up


def test_a_machine_shuts_down_and_boots_in_its_time(cloud: SandboxCloud, clock: Clock) -> None:
    machines = cloud.machines
    machines.set(NAME, seconds=60)
    assert (machines.is_on(NAME), is_up(cloud)) == (True, True)
    machines.shut_down(NAME)
    clock.advance(seconds=59)
    machines.switch_on(NAME)
    assert (machines.is_on(NAME), is_up(cloud)) == (True, True)
    clock.advance(seconds=1)
    assert (machines.is_on(NAME), is_up(cloud)) == (False, False)
    stopped = clock.now()
    clock.advance(hours=1)
    assert cloud.hypervisors.report(NAME) == ServiceReport(up=False, at=stopped)
    for _ in range(2):
        machines.switch_on(NAME)
        clock.advance(seconds=30)
        assert machines.is_on(NAME)
    assert is_up(cloud)
    assert cloud.hypervisors.report(NAME) == ServiceReport(up=True, at=clock.now())
    machines.switch_off(NAME)
    assert (machines.is_on(NAME), is_up(cloud)) == (False, False)


def test_no_server_comes_to_a_host_whose_machine_is_off(cloud: SandboxCloud, clock: Clock) -> None:
    for host in cloud.hypervisors.list():
        if host.service_host != NAME:
            cloud.machines.switch_off(host.service_host)
    clock.advance(seconds=1)
    assert cloud.servers.boot("one", "demo", "m1.small").service_host == NAME
    cloud.machines.switch_off(NAME)
    assert cloud.servers.boot("two", "demo", "m1.small").status == "ERROR"


def test_a_machine_that_is_stuck_stays_as_it_is(cloud: SandboxCloud, clock: Clock) -> None:
    machines = cloud.machines
    machines.set(NAME, stuck=True)
    machines.shut_down(NAME)
    machines.switch_off(NAME)
    clock.advance(hours=1)
    assert is_up(cloud)
    machines.set(NAME, stuck=False)
    machines.switch_off(NAME)
    machines.set(NAME, stuck=True)
    machines.switch_on(NAME)
    clock.advance(hours=1)
    assert (machines.is_on(NAME), is_up(cloud)) == (False, False)


def test_a_host_that_has_failed_is_down_although_its_machine_is_on(cloud: SandboxCloud) -> None:
    cloud.hypervisors.fail(NAME)
    assert (cloud.machines.is_on(NAME), is_up(cloud)) == (True, False)


def test_an_unknown_machine_is_an_error(cloud: SandboxCloud) -> None:
    for call in (cloud.machines.is_on, cloud.machines.switch_on, cloud.machines.shut_down, cloud.machines.switch_off):
        with pytest.raises(CloudPermanentError, match="nothing"):
            call("nothing")
