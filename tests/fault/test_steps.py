"""The steps of a program are the same in every run, however long it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.books.tables import tasks
from tests.fault.program import launched
from tests.fault.stage import new_stage
from tests.processes import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fault.stage import Stage


def turn_taken(stage: Stage) -> bool:
    with stage.world.service.books.reading() as connection:
        turns = select(tasks.c.id).where(tasks.c.subject == "turn", tasks.c.claim_until.is_not(None))
        return connection.execute(turns).first() is not None


@pytest.mark.slow
def test_what_the_audit_writes_is_no_step(tmp_path: Path) -> None:
    """It begins half a minute after its manager: counted in a slow rehearsal, its step never came to be killed at."""
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as stage:
        options = {"manager": {"audit_seconds": 1}}
        with launched("leasehold-manager", tmp_path, stage.url, options=options) as manager:
            wait_for(lambda: turn_taken(stage), within=120)
        assert manager.plan.steps() == []
