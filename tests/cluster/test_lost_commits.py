"""A database loses commits under running processes: a backup is restored, or a lagging standby is promoted.

No process may decide anything from cached state that includes the lost commits.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import requests

from tests.cluster import guide
from tests.cluster.scenes import BACK_WITHIN, POSTGRESQL, standby_url, well
from tests.harness import mix
from tests.harness.mix import Span, Times
from tests.harness.programs import fleet
from tests.harness.storm import enrol, prepare, wait_until_idle
from tests.harness.verdict import audit_findings
from tests.harness.visitor import Asked, Visitor, all_at_once
from tests.processes import wait_for
from tests.servers import SERVERS, server_of_kind
from tests.servers.standby import PrimaryAndStandby

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.programs import Fleet
    from tests.processes import Options

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]

CLIENTS = 8
REQUESTS = 15
"""The number of requests of each client of the storm."""


@contextmanager
def site_on(url: str, options: Options | None = None) -> Iterator[Fleet]:
    """Run two APIs and a manager on an empty database, with the hosts and addresses of a storm."""
    prepare(url)
    with fleet([url], apis=2, managers=1, options=options) as site:
        enrol(site)
        yield site


def ahead(days: int) -> Span:
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=days)
    return Span(start, start + timedelta(days=1))


def ask_for_hosts(site: Fleet, api: int, days: int, amount: int = 1) -> Asked:
    """Request this many hosts through one of the APIs, for a day that begins in `days` days."""
    part = {"resource_type": "physical:host", "min": amount, "max": amount, **mix.ANYTHING}
    with requests.Session() as session:
        body = {"name": uuid4().hex, "reservations": [part], **ahead(days).body}
        return Visitor(api, session, site.apis[api].url).create(body)


def wait_until_well(site: Fleet) -> None:
    for member in site.apis:
        wait_for(lambda url=member.url: well(url), within=BACK_WITHIN)  # type: ignore[misc]


def lose_three_leases(site: Fleet) -> None:
    """Create the leases that the restore loses: three leases of hosts, which both APIs have in their calendars."""
    assert [ask_for_hosts(site, api, days).status for api, days in ((0, 100), (1, 101), (0, 102))] == [201] * 3


def check_nothing_is_promised_twice(site: Fleet, url: str) -> None:
    """Send both APIs the same requests, then random ones; raise AssertionError for any double allocation."""
    wait_until_well(site)
    everything = len(mix.HOSTS)
    assert [ask_for_hosts(site, 1, 200, everything).status, ask_for_hosts(site, 0, 200).status] == [201, 409]
    assert [ask_for_hosts(site, 0, 100, everything).status, ask_for_hosts(site, 1, 100).status] == [201, 409]
    statuses = set().union(*all_at_once(site, _ask, CLIENTS))
    assert {201, 409} <= statuses <= {201, 400, 409}
    wait_until_idle([url], within=120)
    assert audit_findings(url) == []
    assert all(member.alive for member in site.members)


def _ask(visitor: Visitor) -> set[int]:
    rng = random.Random(visitor.number)  # noqa: S311 - a workload wants repeatable numbers
    return {visitor.create(mix.creation(rng, Times())[1]).status for _ in range(REQUESTS)}


@pytest.mark.parametrize("kind", SERVERS)
def test_a_database_goes_back_to_a_backup_under_running_processes(kind: str) -> None:
    with server_of_kind(kind) as server:
        url = server.create_database()
        with site_on(url) as site:
            backup = server.back_up()
            wait_until_well(site)
            lose_three_leases(site)
            server.restore(backup)
            check_nothing_is_promised_twice(site, url)


def test_a_standby_that_lags_is_promoted_under_running_processes() -> None:
    with PrimaryAndStandby(synchronous=False) as pair:
        url = standby_url(pair)
        with site_on(url, {"database": guide.of_leasehold(POSTGRESQL)}) as site:
            pair.cut_off()
            lose_three_leases(site)
            pair.primary.kill()
            pair.standby.promote()
            check_nothing_is_promised_twice(site, url)
