"""Jepsen's recipe of March 2026 on our nodes: all die at once, or one is cut off while the others die.

Each lease that was answered 201 is looked for afterwards.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import requests

from tests.cluster.scenes import BACK_WITHIN, galera_urls, lease_far_ahead, well
from tests.harness.programs import fleet
from tests.harness.storm import prepare
from tests.harness.verdict import audit_findings
from tests.harness.visitor import Visitor
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.programs import Fleet
    from tests.servers.galera import GaleraCluster

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]

MANY = 30
"""Leases that are granted before anything happens."""


@pytest.fixture
def site(galera: GaleraCluster) -> Iterator[tuple[Fleet, list[str]]]:
    urls = galera_urls(galera)
    prepare(urls[0])
    with fleet(urls, apis=3, managers=1) as made:
        yield made, urls


def ask_until(over: threading.Event, granted: set[str], url: str) -> None:
    """Ask for one lease after the other, and keep the ids of those that were answered 201."""
    with requests.Session() as session:
        visitor = Visitor(0, session, url)
        while not over.is_set():
            answer = visitor.create({**lease_far_ahead(), "reservations": [], "name": uuid4().hex})
            if answer.status == 201:
                granted.add(answer.lease_id)


@pytest.mark.parametrize("cut_off", [False, True])
def test_what_was_answered_is_there_after_all_nodes_have_died(
    galera: GaleraCluster, site: tuple[Fleet, list[str]], *, cut_off: bool
) -> None:
    made, urls = site
    over, granted = threading.Event(), set[str]()
    with ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(ask_until, over, granted, api.url) for api in made.apis]
        wait_for(lambda: len(granted) >= MANY, within=2 * BACK_WITHIN)
        if cut_off:
            galera.nodes[2].cut_off()
            wait_for(lambda: len(granted) >= 2 * MANY, within=2 * BACK_WITHIN)
        galera.kill()
        over.set()
        for each in asking:
            each.result()
    galera.mend()
    for api in made.apis:
        wait_for(lambda url=api.url: well(url), within=BACK_WITHIN)  # type: ignore[misc]
    listed = requests.get(f"{made.apis[1].url}/leases", timeout=60).json()["leases"]
    gone = granted - {each["id"] for each in listed}
    assert gone == set(), f"{len(gone)} of {len(granted)}"
    assert audit_findings(urls[0]) == []
