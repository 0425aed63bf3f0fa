"""A program takes the same steps in every run, however long the run takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import tasks
from tests.harness.kills import rehearse
from tests.harness.programs import launched
from tests.harness.scenes import MANAGER_SCENES
from tests.harness.stage import new_stage
from tests.processes import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.stage import Stage


def turn_taken(stage: Stage) -> bool:
    with stage.world.service.db.reading() as connection:
        turns = select(tasks.c.id).where(tasks.c.subject == "turn", tasks.c.claim_until.is_not(None))
        return connection.execute(turns).first() is not None


@pytest.mark.slow
def test_what_the_audit_writes_is_no_step(tmp_path: Path) -> None:
    """The audit starts half a minute late: counted in a slow rehearsal, its step is missing in the kill run."""
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as stage:
        options = {"manager": {"audit_seconds": 1}}
        with launched("leasehold-manager", tmp_path, stage.url, options=options) as manager:
            wait_for(lambda: turn_taken(stage), within=120)
        assert manager.plan.steps() == []


@pytest.mark.slow
def test_the_steps_of_a_start_are_the_same_where_a_call_outlasts_the_claim(tmp_path: Path) -> None:
    """The claim is renewed then: counted in a slow rehearsal, that step is missing in the kill run."""
    scene = next(scene for scene in MANAGER_SCENES if scene.name == "start")
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as stage:
        empty = stage.rows()
        steps = rehearse(stage, scene, empty).steps
        assert steps.count("commit of tasks") == 1
        stage.restore(empty)
        stage.world.cloud.faults.set(Fault("aggregates.remove_host", latency_ms=2500))
        assert rehearse(stage, scene, stage.rows()).steps == steps
