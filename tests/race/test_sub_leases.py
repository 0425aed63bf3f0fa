"""Sub-leases among processes: hosts go to and fro while others ask for them, and each has one holder (feature I4)."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import requests

from leasehold.cloud.sandbox import seed
from tests.harness import mix
from tests.harness.cloud_checks import cloud_problems
from tests.harness.database_checks import database_problems
from tests.harness.programs import fleet
from tests.harness.storm import wait_until_idle
from tests.harness.tables import read_tables
from tests.harness.verdict import audit_findings
from tests.harness.visitor import NEWEST, Asked, Visitor, all_at_once
from tests.processes import prepare_database, wait_for
from tests.race.crowd import Crowd

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tests.harness.programs import Fleet
    from tests.race.crowd import Way

pytestmark = pytest.mark.slow

CLIENTS = 12
WANTED = (("lend", 201), ("lend", 409), ("take back", 204), ("move the lender", 409), ("claim", 201), ("claim", 409))
OFTEN, LONG = 0.7, 48 * 3600
HOST = {"resource_type": "physical:host", "min": 1, "max": 1, **mix.ANYTHING}


def dates(seconds: float) -> dict[str, str]:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
    return {"start_date": "now", "end_date": end.isoformat()}


class Lending(Crowd):
    """Clients that lend and claim hosts of one lease, take them back, end and move these, and lease hosts beside it."""

    seed, seconds, wanted = 20_261_125, 6.0, WANTED

    def __init__(self, lender: str, offer: str) -> None:
        super().__init__()
        self.lender, self.offer = lender, offer

    def ways(self) -> Sequence[Way]:
        return self._lend, self._lend, self._claim, self._claim, self._beside, self._move, self._change

    @property
    def _path(self) -> str:
        return f"/leases/{self.lender}/sub-leases"

    def _lend(self, visitor: Visitor, rng: random.Random) -> Asked:
        body: dict[str, Any] = {"name": uuid4().hex, "project_id": f"p{visitor.number}", "amount": rng.randint(1, 2)}
        if rng.random() < OFTEN:
            body["end_date"] = dates(rng.randint(1, 5))["end_date"]
        return visitor.ask("POST", self._path, body, "lend", headers=NEWEST)

    def _claim(self, visitor: Visitor, rng: random.Random) -> Asked:
        body: dict[str, Any] = {"name": uuid4().hex, "amount": rng.randint(1, 2)}
        if rng.random() < OFTEN:
            body["end_date"] = dates(rng.randint(1, 5))["end_date"]
        return visitor.ask("POST", f"/published-offers/{self.offer}/claims", body, "claim", headers=NEWEST)

    def _beside(self, visitor: Visitor, rng: random.Random) -> Asked:
        return visitor.create({"name": uuid4().hex, "reservations": [HOST], **dates(rng.randint(2, 6))})

    def _move(self, visitor: Visitor, rng: random.Random) -> Asked:
        """Move the end of the lender, which is refused while something is lent."""
        return visitor.amend(
            self.lender, {"end_date": dates(LONG + rng.randint(0, 4000))["end_date"]}, "move the lender"
        )

    def _change(self, visitor: Visitor, rng: random.Random) -> Asked:
        """Take back, delete or move a sub-lease."""
        listed = visitor.ask("GET", self._path, None, "list", headers=NEWEST)
        found = listed.body["sub_leases"]
        if not found:
            return listed
        child, way = rng.choice(found)["id"], rng.randrange(3)
        if way == 0:
            return visitor.ask("DELETE", f"{self._path}/{child}", None, "take back", headers=NEWEST)
        if way == 1:
            return visitor.delete(child)
        return visitor.amend(child, {"end_date": dates(rng.randint(1, 8))["end_date"]}, "move")


def status(url: str, lease_id: str) -> str:
    (found,) = [row.status for row in read_tables(url, ["leases"])["leases"] if row.id == lease_id]
    return str(found)


def test_hosts_are_lent_and_taken_back_by_many_and_each_has_one_holder(database_url: str) -> None:
    prepare_database(database_url)
    with fleet([database_url], apis=3, managers=2) as site:
        for name, _properties in seed.SUGGESTED_HOSTS:
            assert requests.post(f"{site.url(0)}/os-hosts", json={"name": name}, timeout=60).status_code == 201
        lender = active(site, database_url)
        answers = [each for made in all_at_once(site, Lending(lender, offered(site, lender)), CLIENTS) for each in made]
        seen = Counter((each.kind, each.status) for each in answers)
        assert not [each for each in answers if each.status >= 500], seen
        assert all(seen[each] for each in WANTED), seen
        delete_all_but(site, database_url, lender)
        wait_until_idle([database_url], within=90)
        tables = read_tables(database_url)
        assert database_problems(tables, datetime.now(UTC)) == []
        assert cloud_problems(tables) == []
        (lease,) = [row for row in tables["leases"] if row.id == lender]
        # All that was lent is back.
        assert sum(len(tables.live(lease, part)) for part in tables.parts(lease)) == 3
        children = {row.parent_id for row in tables["leases"]} - {None}
        assert children == {lender}
        assert requests.delete(f"{site.url(0)}/leases/{lender}", timeout=60).status_code == 204
        wait_until_idle([database_url], within=60)
        assert database_problems(read_tables(database_url), datetime.now(UTC)) == []
        assert audit_findings(database_url) == []


def active(site: Fleet, url: str) -> str:
    """Return an active lease of another project, of three hosts, that ends, and is warned, long after the test."""
    parts = [{**HOST, "min": 3, "max": 3}]
    body = {"name": "lender", "project_id": "lab", "reservations": parts, **dates(LONG)}
    answer = requests.post(f"{site.url(0)}/leases", json=body, headers=NEWEST, timeout=60)
    assert answer.status_code == 201, answer.text
    lender: str = answer.json()["lease"]["id"]
    wait_for(lambda: status(url, lender) == "ACTIVE", within=60)
    return lender


def offered(site: Fleet, lender: str) -> str:
    """Publish all hosts of the lease, and return the id of the offer."""
    body, path = {"name": "spare", "amount": 3}, f"{site.url(0)}/leases/{lender}/published-offers"
    answer = requests.post(path, json=body, headers=NEWEST, timeout=60)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["published_offer"]["id"])


def delete_all_but(site: Fleet, url: str, lender: str) -> None:
    """Delete every lease but this one."""
    for row in read_tables(url, ["leases"])["leases"]:
        if row.id != lender and row.deleted_at is None:
            requests.delete(f"{site.url(0)}/leases/{row.id}", timeout=60)
