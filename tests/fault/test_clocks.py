"""Clocks are minutes wrong or jump by minutes: leases begin and end on time, and one manager works on each."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.model.windows import to_minute
from tests.conftest import Databases, server_database
from tests.fault.clocks import GAP, LOST, STEPS, WRONG, Machine, run, wishes
from tests.fault.kills import SHORT_CLAIMS
from tests.fault.outage import Client
from tests.fault.program import launched
from tests.fault.scenes import lease_of
from tests.fault.stage import new_stage
from tests.servers import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fault.stage import Stage

pytestmark = pytest.mark.slow

SEED = 14


@pytest.fixture(params=SERVERS)
def stage(request: pytest.FixtureRequest, tmp_path: Path, databases: Databases) -> Iterator[Stage]:
    with server_database(databases, request.param) as url, new_stage(url, tmp_path) as made:
        yield made


@pytest.mark.servers
def test_wrong_clocks_and_clocks_that_are_set_change_nothing(stage: Stage) -> None:
    dice = random.Random(SEED)  # noqa: S311  repeatable, not secret
    steps = [(WRONG, -WRONG), *([dice.choice((-WRONG, 0, WRONG)) for _ in range(2)] for _ in range(STEPS))]
    wanted = wishes(dice, datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3), (0,))
    course = run(stage, [Machine(stage.folder / name) for name in ("fast", "slow")], wanted, steps)
    assert course.off(wanted) == [], f"seed {SEED}"
    assert not any(LOST in log for log in course.logs), course.logs
    assert all(GAP in log for log in course.logs), course.logs
    stage.check()


@pytest.mark.servers
@pytest.mark.parametrize("wrong", [WRONG, -WRONG])
def test_an_api_whose_clock_is_wrong_grants_leases_for_the_present(stage: Stage, wrong: int) -> None:
    machine = Machine(stage.folder / "api")
    machine.set(wrong)
    with launched("leasehold-api", stage.folder, stage.url, options=SHORT_CLAIMS, offset=machine.file) as api:
        before = to_minute(datetime.now(UTC))
        answer = Client(api.url).create("now")
    assert answer.status_code == 201, answer.text
    lease = lease_of(stage.world)
    assert lease is not None
    assert before <= lease.window.start <= datetime.now(UTC)


def test_on_sqlite_everything_comes_right_after_the_one_clock_was_set(tmp_path: Path) -> None:
    """Some leases are due before the jump, some only while the clock is ahead."""
    dice = random.Random(SEED)  # noqa: S311  repeatable, not secret
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as stage:
        machine = Machine(tmp_path / "machine")
        steps = [(0, 0), (WRONG, WRONG), (0, 0), (WRONG, WRONG), (0, 0), (2 * WRONG, 2 * WRONG)]
        wanted = wishes(dice, datetime.now(UTC).replace(microsecond=0), (0, WRONG))
        course = run(stage, [machine, machine], wanted, steps)
        assert course.over()
        stage.clock.behind = -timedelta(seconds=2 * WRONG)
        stage.check()
