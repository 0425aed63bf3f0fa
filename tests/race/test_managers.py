"""A slow call to the cloud delays only its own lease, with two managers and with the threads of one manager."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import requests

from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.engine import open_engine
from tests.harness import mix
from tests.harness.programs import fleet
from tests.harness.storm import wait_until_idle
from tests.harness.tables import read_tables
from tests.harness.verdict import audit_findings
from tests.processes import prepare_database, wait_for

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.harness.programs import Fleet

pytestmark = pytest.mark.slow

SLOW_MS = 120_000
"""Far longer than the other leases need, on any machine."""
OTHERS = 10
HOST = {"resource_type": "physical:host", "min": 1, "max": 1, **mix.ANYTHING}


def test_a_slow_call_for_one_lease_holds_up_no_other_with_two_managers(database_url: str) -> None:
    try_with(2, database_url)


@pytest.mark.servers
def test_nor_does_it_among_the_threads_of_one(postgresql_url: str) -> None:
    try_with(1, postgresql_url)


def try_with(managers: int, database_url: str) -> None:
    """Make one lease wait for its call, check that the others start meanwhile, and kill the manager that waits."""
    prepare_database(database_url)
    engine = open_engine(database_url)
    cloud = sandbox(engine, faults_in_force=False)
    # Set before any process starts, since each polls for faults once a second. The first removal of a host is slow.
    cloud.faults.set(Fault("aggregates.remove_host", latency_ms=SLOW_MS, remaining=1))
    with fleet([database_url], apis=1, managers=managers) as site:
        for name, _properties in seed.SUGGESTED_HOSTS:
            assert requests.post(f"{site.url(0)}/os-hosts", json={"name": name}, timeout=60).status_code == 201
        slow = lease(site)
        wait_for(lambda: cloud.faults.all()[0].remaining == 0, within=60)
        others = [lease(site) for _ in range(OTHERS)]
        wait_for(lambda: Counter(statuses(database_url, others)) == {"ACTIVE": OTHERS}, within=90)
        assert statuses(database_url, [slow]) in (["PENDING"], ["STARTING"])
        kill_the_one_at_work(site, database_url, slow)
        wait_for(lambda: statuses(database_url, [slow]) == ["ACTIVE"], within=60)
        wait_until_idle([database_url], within=60)
        assert audit_findings(database_url) == []
    engine.dispose()


def lease(site: Fleet) -> str:
    """Lease a host from now on for hours, and return the lease's id."""
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=6)
    body: dict[str, Any] = {"name": uuid4().hex, "start_date": "now", "reservations": [HOST]}
    answer = requests.post(
        f"{site.url(0)}/leases",
        json={**body, "end_date": end.isoformat()},
        headers={"OpenStack-API-Version": "reservation 1.1"},
        timeout=60,
    )
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["lease"]["id"]
    return found


def statuses(url: str, lease_ids: Collection[str]) -> list[str]:
    return [row.status for row in read_tables(url)["leases"] if row.id in lease_ids]


def kill_the_one_at_work(site: Fleet, url: str, lease_id: str) -> None:
    """Kill the manager that waits for the slow call; restart it if it was the only one."""
    (claimer,) = [row.claimed_by for row in read_tables(url)["tasks"] if row.subject == lease_id]
    (stuck,) = [each for each in site.managers if f":{each.process.pid}:" in claimer]
    stuck.kill()
    if len(site.managers) == 1:
        stuck.start()
