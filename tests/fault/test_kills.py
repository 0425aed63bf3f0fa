"""Programs killed at every step: afterwards every lease has its required status and the cloud matches the database."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.databases import ON_EACH, Databases, database
from tests.harness import kills

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.harness.stage import Stage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEED = 20_261
OF_EACH = {"sqlite": 5}
"""Kills per scene; one on a database server. `python -m tests.harness kills --database mariadb --all` runs all."""
OUTLIVED = 9
"""Moments of a start; `python -m tests.harness outlive` runs all of them."""


@pytest.fixture(scope="module", params=ON_EACH)
def stages(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, databases: Databases
) -> Iterator[Sequence[Stage]]:
    """Yield a few stages in databases of one kind."""
    with ExitStack() as stack:

        def create() -> str:
            return stack.enter_context(database(databases, request.param, tmp_path_factory.mktemp("fault")))

        yield stack.enter_context(kills.stages(create))


def test_whatever_step_a_program_dies_at_everything_is_right_afterwards(stages: Sequence[Stage]) -> None:
    """Try some steps of every scene."""
    rehearsed = kills.rehearsals(stages)
    planned = kills.kills_of_each(rehearsed, SEED, OF_EACH.get(stages[0].world.engine.dialect.name, 1))
    verdicts = kills.carry_out(stages, planned)
    assert [str(verdict) for verdict in verdicts if verdict.trouble] == [], f"seed {SEED}"
    assert {verdict.trial.way for verdict in verdicts} == set(kills.WAYS)
    assert {verdict.trial.rehearsal.scene.name for verdict in verdicts} == {scene.name for scene in kills.SCENES}


def test_books_and_cloud_agree_after_a_manager_outlived_its_claim(tmp_path: Path) -> None:
    """It is paused in a call while another starts the lease and its owner deletes it: nothing is left over."""
    scenes = [scene for scene in kills.SCENES if scene.name == "start now"]
    numbers = itertools.count()
    with kills.stages(lambda: f"sqlite:///{tmp_path}/{next(numbers)}.db", lanes=3) as lanes:
        moments = kills.sample(kills.every_standstill(kills.rehearsals(lanes, scenes)), SEED, OUTLIVED)
        verdicts = kills.carry_out(lanes, moments)
    assert [str(verdict) for verdict in verdicts if verdict.trouble] == [], f"seed {SEED}"
    assert len(verdicts) == OUTLIVED
