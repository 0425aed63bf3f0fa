"""A manager with default settings is killed during a start: the start continues; the lease can be deleted meanwhile."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
import requests

from tests.harness.programs import launched
from tests.harness.scenes import grant, is_active, is_gone, lease_of
from tests.harness.stage import RIGHT_WITHIN, Stage, new_stage
from tests.harness.steps import Moment, Place, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

IN_THE_MIDDLE = Moment(9, Place.AFTER)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Yield a stage with a lease whose manager, on default settings, was killed in the middle of its start."""
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as made:
        grant(made.world, 0, 5)
        plan = Plan(tmp_path / "doomed.steps", IN_THE_MIDDLE, signal.SIGKILL)
        with launched("leasehold-manager", tmp_path, made.url, plan) as doomed:
            doomed.wait_for_death()
        lease = lease_of(made.world)
        assert lease is not None
        assert lease.status == "STARTING"
        yield made


def test_another_manager_finishes_the_start_within_a_minute(stage: Stage) -> None:
    with launched("leasehold-manager", stage.folder, stage.url):
        assert stage.wait_until(is_active) < RIGHT_WITHIN
    stage.check()


def test_a_lease_whose_manager_died_while_it_started_can_be_deleted_at_once(stage: Stage) -> None:
    lease = lease_of(stage.world)
    assert lease is not None
    options = {"api": {"delete_wait_seconds": 0.1}}
    with launched("leasehold-api", stage.folder, stage.url, options=options) as api:
        answer = requests.delete(f"{api.url}/leases/{lease.id}", timeout=RIGHT_WITHIN)
        assert answer.status_code == 204, answer.text
        with launched("leasehold-manager", stage.folder, stage.url):
            assert stage.wait_until(is_gone) < RIGHT_WITHIN
    stage.check()


def test_a_manager_that_runs_already_takes_over_within_a_minute_of_the_kill(tmp_path: Path) -> None:
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as stage:
        grant(stage.world, 0, 5)
        plan = Plan(tmp_path / "doomed.steps", IN_THE_MIDDLE, signal.SIGSTOP)
        with launched("leasehold-manager", tmp_path, stage.url, plan) as doomed:
            doomed.wait_for_stop()
            with launched("leasehold-manager", tmp_path, stage.url):
                doomed.kill()
                assert stage.wait_until(is_active) < RIGHT_WITHIN
        stage.check()


def test_a_manager_that_stood_still_stops_when_it_was_told_to_meanwhile(tmp_path: Path) -> None:
    """The kernel gives the signal to whichever thread wakes first, maybe the main one; so try several times."""
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as stage:
        for _ in range(5):
            with launched("leasehold-manager", stage.folder, stage.url) as manager:
                manager.signal(signal.SIGSTOP)
                manager.wait_for_stop()
                manager.signal(signal.SIGTERM)
                manager.signal(signal.SIGCONT)
                manager.stop()
