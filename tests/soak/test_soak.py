"""A storm and a short soak on every database; `python -m tests.harness storm` and `soak` run long ones."""

from __future__ import annotations

import pytest

from tests.databases import ON_EACH
from tests.harness.soak import REQUESTS, place, soak
from tests.harness.storm import SEED, storm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_after_a_storm_the_books_hold_exactly_what_was_answered(database_url: str) -> None:
    report = storm([database_url], apis=3, managers=2, seconds=15)
    report.check(database_url)
    assert report.verbs() >= REQUESTS, report.table()


@pytest.mark.parametrize("kind", ON_EACH)
def test_whatever_fails_every_lease_ends_where_its_answers_say(kind: str) -> None:
    with place(kind) as (url, server):
        report = soak(url, server, seconds=10, seed=SEED)
        report.check(url, outage=True)
