"""Requests for the last host through three nodes at the same moment: row locks do not span Galera nodes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import requests

from tests.cluster import guide
from tests.cluster.scenes import GALERA, all_rows
from tests.harness.database_checks import database_problems
from tests.harness.tables import read_tables
from tests.harness.visitor import ANSWERED_WITHIN, Asked, Visitor
from tests.processes import prepare_database
from tests.race.fleet import fleet
from tests.race.wanted import ANYTHING

if TYPE_CHECKING:
    from tests.race.fleet import Fleet

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]

CLIENTS, ROUNDS = 9, 25
FIRST = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=2)


def test_the_last_host_goes_to_exactly_one_every_time(node_urls: list[str]) -> None:
    prepare_database(node_urls[0])
    with fleet(node_urls, apis=3, managers=0, options={"database": guide.of_leasehold(GALERA)}) as site:
        enrolled = requests.post(f"{site.url(0)}/os-hosts", json={"name": "cmp-01"}, timeout=ANSWERED_WITHIN)
        assert enrolled.status_code == 201
        barrier = threading.Barrier(CLIENTS)
        with ThreadPoolExecutor(CLIENTS) as threads:
            asked = list(threads.map(lambda number: ask_in_every_round(number, site, barrier), range(CLIENTS)))
    for answers in zip(*asked, strict=True):
        assert sorted(answer.status for answer in answers) == [201] + [409] * (CLIENTS - 1)
    tables = read_tables(node_urls[2])
    assert database_problems(tables, datetime.now(UTC)) == []
    assert len(tables.allocated()) == ROUNDS
    assert all_rows(node_urls[0]) == all_rows(node_urls[1]) == all_rows(node_urls[2])


def ask_in_every_round(number: int, site: Fleet, barrier: threading.Barrier) -> list[Asked]:
    """In each round, ask for the same hour at the same moment as the other clients, always through the same API."""
    answers = []
    with requests.Session() as session:
        visitor = Visitor(number, session, site.url(number))
        for turn in range(ROUNDS):
            hour = FIRST + timedelta(hours=turn)
            body = {
                "name": uuid4().hex,
                "start_date": hour.isoformat(),
                "end_date": (hour + timedelta(hours=1)).isoformat(),
                "reservations": [{"resource_type": "physical:host", "min": 1, "max": 1, **ANYTHING}],
            }
            barrier.wait(ANSWERED_WITHIN)
            answers.append(visitor.create(body))
    return answers
