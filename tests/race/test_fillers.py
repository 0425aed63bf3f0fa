"""Fillers among processes: hosts are given and end while others lease them, and nobody is on a host of another one."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
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
from tests.harness.tables import BOOKS, read_tables
from tests.harness.verdict import audit_findings
from tests.harness.visitor import NEWEST, Asked, Visitor, all_at_once
from tests.processes import Options, prepare_database, wait_for
from tests.race.crowd import Crowd

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tests.harness.tables import Tables
    from tests.race.crowd import Way

pytestmark = pytest.mark.slow

CLIENTS, LIMIT = 12, 3
WANTED = (("fill", 201), ("fill", 409), ("end", 202), ("lease", 201), ("lease", 409), ("later", 201))
HOST = {"resource_type": "physical:host", "min": 1, "max": 1, **mix.ANYTHING}
TIMES: Options = {
    "filler": {"hosts": LIMIT, "notice_seconds": 1, "evict_seconds": 10, "least_seconds": 2, "every_seconds": 1}
}
"""A host with a filler is ready 13 seconds after it is needed."""


class Filling(Crowd):
    """Clients that ask for fillers and end them, and lease hosts for now and for when fillers can be gone."""

    seed, seconds, wanted = 20_261_130, 8.0, WANTED

    def ways(self) -> Sequence[Way]:
        return self._fill, self._fill, self._end, self._lease, self._later

    def _fill(self, visitor: Visitor, rng: random.Random) -> Asked:
        body = {"name": uuid4().hex, "reservation": {**HOST, "max": rng.randint(1, 2)}}
        return visitor.ask("POST", "/fillers", body, "fill", headers=NEWEST)

    def _end(self, visitor: Visitor, rng: random.Random) -> Asked:
        listed = visitor.ask("GET", "/fillers?state=active", None, "list", headers=NEWEST)
        found = listed.body["fillers"]
        if not found:
            return listed
        return visitor.ask("DELETE", f"/fillers/{rng.choice(found)['id']}", None, "end", headers=NEWEST)

    def _lease(self, visitor: Visitor, rng: random.Random) -> Asked:
        end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=rng.randint(2, 6))
        body = {"name": uuid4().hex, "reservations": [HOST], "start_date": "now", "end_date": end.isoformat()}
        return visitor.ask("POST", "/leases", body, "lease", headers=NEWEST)

    def _later(self, visitor: Visitor, rng: random.Random) -> Asked:
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=rng.randint(15, 25))
        dates = {"start_date": start.isoformat(), "end_date": (start + timedelta(seconds=3)).isoformat()}
        return visitor.ask(
            "POST", "/leases", {"name": uuid4().hex, "reservations": [HOST], **dates}, "later", headers=NEWEST
        )


def on_the_same_host(tables: Tables) -> list[tuple[Any, Any]]:
    """Return each host that a filler has while a lease is active on it."""
    active = {row.id for row in tables["reservations"] if row.status == "ACTIVE"}
    held = [row for row in tables["allocations"] if row.reservation_id in active and row.released_at is None]
    present = [row for row in tables["filled_hosts"] if row.ended_at is None]
    return [(host, row) for host in present for row in held if row.resource_number == host.resource_number]


def test_hosts_have_a_filler_or_a_lease_and_no_lease_waits_for_long(database_url: str) -> None:
    prepare_database(database_url)
    with fleet([database_url], apis=3, managers=2, options=TIMES) as site:
        for name, _properties in seed.SUGGESTED_HOSTS:
            assert requests.post(f"{site.url(0)}/os-hosts", json={"name": name}, timeout=60).status_code == 201
        with ThreadPoolExecutor(1) as beside:
            asking = beside.submit(all_at_once, site, Filling(), CLIENTS)
            while wait([asking], timeout=0.3).not_done:
                assert on_the_same_host(read_tables(database_url, (*BOOKS, "filled_hosts"))) == []
        answers = [each for made in asking.result() for each in made]
        seen = Counter((each.kind, each.status) for each in answers)
        assert not [each for each in answers if each.status >= 500], seen
        assert all(seen[each] for each in WANTED), seen
        tables = read_tables(database_url, (*BOOKS, "filled_hosts", "fillers"))
        assert on_the_same_host(tables) == []
        having = Counter(row.project_id for row in tables["filled_hosts"] if row.ended_at is None)
        assert max(having.values(), default=0) <= LIMIT
        for row in tables["fillers"]:
            requests.delete(f"{site.url(0)}/fillers/{row.id}", headers=NEWEST, timeout=60)
        wait_for(lambda: all(row.ended_at for row in read_tables(database_url, ["filled_hosts"])["filled_hosts"]), 90)
        wait_until_idle([database_url], within=120)
        tables = read_tables(database_url)
        assert database_problems(tables, datetime.now(UTC)) == []
        assert cloud_problems(tables) == []
        assert audit_findings(database_url) == []
