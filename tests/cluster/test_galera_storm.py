"""A real Galera cluster of three nodes, all of which take writes, under a storm of requests of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.scenes import Seen, check_galera, cut_a_node_off, galera_storm, kill_a_node, let_every_manager_work

if TYPE_CHECKING:
    from tests.servers.galera import GaleraCluster

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]


def test_writers_on_every_node_promise_nothing_twice(node_urls: list[str]) -> None:
    seen = Seen()
    report = galera_storm(node_urls, seconds=8, meanwhile=let_every_manager_work(seen))
    check_galera(report, seen, node_urls, outage=False)
    assert report.granted > 0


def test_a_node_that_is_killed_costs_its_api_some_requests_and_nobody_a_lease(
    galera: GaleraCluster, node_urls: list[str]
) -> None:
    seen = Seen()
    report = galera_storm(node_urls, seconds=20, meanwhile=kill_a_node(galera, seen))
    check_galera(report, seen, node_urls, outage=True)
    assert seen.answers[:3] == [("health, dead", 503, None), ("read, dead", 503, "5"), ("create, dead", 503, "5")]


def test_a_node_that_is_cut_off_neither_promises_nor_tells_what_is_no_longer_true(
    galera: GaleraCluster, node_urls: list[str]
) -> None:
    seen = Seen()
    report = galera_storm(node_urls, seconds=12, meanwhile=cut_a_node_off(galera, seen))
    assert seen.answers[:8] == [
        ("create, on the others", 201, None),
        ("read, cut off", 503, "5"),
        ("create, cut off", 503, "5"),
        ("health, cut off", 503, None),
        ("read, known", 503, "5"),
        ("create, known", 503, "5"),
        ("health, the others", 200, None),
        ("read, back", 200, None),
    ], seen
    check_galera(report, seen, node_urls, outage=True)
