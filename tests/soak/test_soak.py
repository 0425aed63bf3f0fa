"""A short soak on every database; `python -m tests.harness soak` runs the long one with the same code."""

from __future__ import annotations

import pytest

from tests.databases import ON_EACH
from tests.harness.soak import place, soak
from tests.harness.storm import SEED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SECONDS = 10.0


@pytest.mark.parametrize("kind", ON_EACH)
def test_whatever_fails_every_lease_ends_where_its_answers_say(kind: str) -> None:
    with place(kind) as (url, server):
        report = soak(url, server, seconds=SECONDS, seed=SEED)
        report.check(url, outage=True)
