"""The manager's log: a search for a lease's id finds each step of the lease."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.faults import Fault
from tests.factory import hosts, run_for, run_manager, run_until, run_until_refused_often

if TYPE_CHECKING:
    import pytest

    from tests.factory import World

DOWN = Fault("*", error="before")
REFUSED = Fault("aggregates.ensure", error="before", permanent=True)


def test_a_lease_that_goes_well_leaves_a_line_for_each_step(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "leasehold.manager")
    lease = world.lease(hosts(), start=0, end=3)
    run_until(world, world.hour(3.1))
    assert caplog.messages == [f"Lease {lease.id}: {step} done" for step in ("start", "before_end", "end")]


def test_what_waits_says_for_what(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "leasehold.manager")
    world.cloud.faults.set(DOWN)
    lease = world.lease(hosts(), start=0, end=3)
    run_manager(world)
    (message,) = caplog.messages
    assert message.startswith(f"Lease {lease.id}: start will be tried again: Waiting for the cloud: ")
    world.cloud.faults.clear()
    run_for(world, minutes=2)
    assert caplog.messages[-1] == f"Lease {lease.id}: start done"


def test_what_is_refused_often_is_a_warning(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.cloud.faults.set(REFUSED)
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    assert world.get(lease).status == "ERROR"
    (record,) = (each for each in caplog.records if each.name == "leasehold.manager.task_runner")
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(
        f"Lease {lease.id}: start fails, and will be tried again: The cloud refused: "
    )
