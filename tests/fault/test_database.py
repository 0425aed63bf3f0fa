"""The database fails, or a connection breaks at the worst moment: clear answers, and nothing lost or doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.tables import leases
from tests.harness.outage import Client, outage
from tests.harness.programs import launched
from tests.harness.relay import Cut, relayed
from tests.harness.stage import SHORT_CLAIMS, new_stage
from tests.harness.visitor import Outcome
from tests.servers import SERVERS, server_of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.stage import Stage
    from tests.servers import Server

pytestmark = [pytest.mark.slow, pytest.mark.servers]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Yield a private server that the test may kill."""
    with server_of_kind(request.param) as own:
        yield own


@pytest.fixture
def stage(server: Server, tmp_path: Path) -> Iterator[Stage]:
    with new_stage(server.create_database(), tmp_path) as made:
        yield made


def test_a_database_that_is_gone_for_a_while_costs_nothing_but_time(server: Server, stage: Stage) -> None:
    verdict = outage(server, stage, seconds=4.0)
    assert verdict.trouble == [], verdict


@pytest.mark.parametrize("cut", Cut)
def test_a_commit_that_is_cut_off_gets_a_clear_answer_and_is_there_once_or_not_at_all(stage: Stage, cut: Cut) -> None:
    with relayed(stage.url) as (relay, url), launched("leasehold-api", stage.folder, url, options=SHORT_CLAIMS) as api:
        client = Client(api.url)
        relay.cut = cut
        answer = client.create("cut")
        assert relay.done.wait(60)
        assert (answer.status, answer.body["code"]) == (503, "leasehold.database.unavailable"), answer
        assert answer.outcome is Outcome.UNKNOWN
        assert answer.headers["Retry-After"]
        assert _names(stage) == (["cut"] if cut is Cut.ANSWER else [])
        again = client.create("cut")
        assert again.status == 201, again
        assert _names(stage) == ["cut"]
    with launched("leasehold-manager", stage.folder, stage.url, options=SHORT_CLAIMS):
        stage.wait_until(lambda _world: True)
    stage.check()


def _names(stage: Stage) -> list[str]:
    with stage.world.service.db.reading() as connection:
        return list(connection.scalars(select(leases.c.name)))
