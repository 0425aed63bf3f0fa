"""Programs killed at every step: afterwards every lease has its required status and the cloud matches the database."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import server_database
from tests.fault import campaign
from tests.fault.campaign import SCENES
from tests.fault.kills import WAYS
from tests.servers import KINDS, SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.fault.stage import Stage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEED = 20_261
OF_EACH = {"sqlite": 5}
"""Kills per scene; one on a database server. `python -m tests.fault --database mariadb --all` runs all of them."""


@pytest.fixture(
    scope="module",
    params=[kind if kind not in SERVERS else pytest.param(kind, marks=pytest.mark.servers) for kind in KINDS],
)
def stages(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, databases: Any
) -> Iterator[Sequence[Stage]]:
    """Yield a few stages in databases of one kind."""
    with ExitStack() as stack:

        def create() -> str:
            if request.param in SERVERS:
                return stack.enter_context(server_database(databases, request.param))
            folder: Path = tmp_path_factory.mktemp("fault")
            return f"sqlite:///{folder}/leasehold.db"

        yield stack.enter_context(campaign.stages(create))


def test_whatever_step_a_program_dies_at_everything_is_right_afterwards(
    stages: Sequence[Stage],
) -> None:
    """Try some steps of every scene."""
    rehearsed = campaign.rehearsals(stages)
    kills = campaign.choose_of_each(rehearsed, SEED, OF_EACH.get(stages[0].world.engine.dialect.name, 1))
    verdicts = campaign.carry_out(stages, kills, lambda _verdict: None)
    assert [str(verdict) for verdict in verdicts if verdict.trouble] == [], f"seed {SEED}"
    assert {verdict.way for verdict in verdicts} == set(WAYS)
    assert {verdict.scene for verdict in verdicts} == {scene.name for scene in SCENES}
