"""Requests for the last host through three nodes at the same moment: row locks do not span Galera nodes."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import requests

from tests.cluster import guide
from tests.cluster.scenes import GALERA, all_rows
from tests.harness.database_checks import database_problems
from tests.harness.mix import ANYTHING, Span
from tests.harness.programs import fleet
from tests.harness.tables import read_tables
from tests.harness.visitor import ANSWERED_WITHIN, Asked, Visitor, all_at_once
from tests.processes import prepare_database

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]

CLIENTS, ROUNDS = 9, 25
FIRST = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=2)


def test_the_last_host_goes_to_exactly_one_every_time(node_urls: list[str]) -> None:
    prepare_database(node_urls[0])
    with fleet(node_urls, apis=3, managers=0, options={"database": guide.of_leasehold(GALERA)}) as site:
        enrolled = requests.post(f"{site.url(0)}/os-hosts", json={"name": "cmp-01"}, timeout=ANSWERED_WITHIN)
        assert enrolled.status_code == 201
        barrier = threading.Barrier(CLIENTS)
        asked = all_at_once(site, lambda visitor: ask_in_every_round(visitor, barrier), CLIENTS)
    for answers in zip(*asked, strict=True):
        assert sorted(answer.status for answer in answers) == [201] + [409] * (CLIENTS - 1)
    tables = read_tables(node_urls[2])
    assert database_problems(tables, datetime.now(UTC)) == []
    assert len(tables.allocated()) == ROUNDS
    assert all_rows(node_urls[0]) == all_rows(node_urls[1]) == all_rows(node_urls[2])


def ask_in_every_round(visitor: Visitor, barrier: threading.Barrier) -> list[Asked]:
    """In each round, ask for the same hour at the same moment as the other clients, always through the same API."""
    answers = []
    for turn in range(ROUNDS):
        hour = FIRST + timedelta(hours=turn)
        part = {"resource_type": "physical:host", "min": 1, "max": 1, **ANYTHING}
        body = {"name": uuid4().hex, "reservations": [part], **Span(hour, hour + timedelta(hours=1)).body}
        barrier.wait(ANSWERED_WITHIN)
        answers.append(visitor.create(body))
    return answers
