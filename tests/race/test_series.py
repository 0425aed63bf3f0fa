"""Series among processes: they are made, moved and deleted at the same moment, and name all the leases there are."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import requests

from tests.harness.database_checks import database_problems
from tests.harness.tables import read_tables
from tests.harness.visitor import VERSION, Asked, Visitor, all_at_once
from tests.race.test_races import hosts, window

if TYPE_CHECKING:
    from tests.harness.programs import Fleet

pytestmark = pytest.mark.slow

SEED, ROUNDS, CLIENTS = 20_261_127, 6, 12
EXPECTED = {("POST", 201), ("POST", 409), ("PUT", 200), ("PUT", 404), ("PUT", 409), ("DELETE", 204), ("DELETE", 404)}


class Courses:
    """Clients of one project that ask for series, in each round some for the same one, move them and delete them."""

    def __init__(self) -> None:
        self.name = uuid4().hex

    def __call__(self, visitor: Visitor) -> list[Asked]:
        rng = random.Random(SEED + visitor.number)  # noqa: S311 - not for cryptography
        return [self._one(visitor, rng, f"{self.name}-{number}") for number in range(ROUNDS)]

    def _one(self, visitor: Visitor, rng: random.Random, key: str) -> Asked:
        found = [each["id"] for each in visitor.ask("GET", "/series").body["series"]]
        if not found or rng.random() < 0.4:
            body = {"name": "course", "rule": "FREQ=DAILY;COUNT=4", "reservations": [hosts("series")], **window(0, 1)}
            return visitor.ask("POST", "/series", body, "POST", headers={"Idempotency-Key": key + rng.choice("ab")})
        path = f"/series/{rng.choice(found)}"
        if rng.random() < 0.6:
            return visitor.ask("PUT", path, window(rng.randint(1, 20), 1), "PUT")
        return visitor.ask("DELETE", path, None, "DELETE")


def test_series_that_are_made_moved_and_deleted_by_many_name_all_their_leases(site: Fleet) -> None:
    answers = [each for made in all_at_once(site, Courses(), CLIENTS) for each in made]
    seen = Counter((each.method, each.status) for each in answers)
    assert set(seen) <= EXPECTED, seen
    # What was deleted was made, even if each who made one was told that it had changed or gone by then.
    assert seen["DELETE", 204], seen
    series = requests.get(f"{site.url(0)}/series", headers=VERSION, timeout=60).json()["series"]
    tables = read_tables(site.database_url)
    assert database_problems(tables, datetime.now(UTC)) == []
    there = {row.id for row in tables["leases"] if row.deleted_at is None and row.name.startswith("course ")}
    named = {one["lease_id"] for each in series for one in each["occurrences"] if one["status"]}
    assert there == named
    for each in series:
        assert requests.delete(f"{site.url(0)}/series/{each['id']}", headers=VERSION, timeout=60).status_code == 204
    left = read_tables(site.database_url, ["leases"])["leases"]
    assert not [row.id for row in left if row.deleted_at is None and row.name.startswith("course ")]
