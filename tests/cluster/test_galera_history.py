"""Clients of three nodes of a Galera cluster: one order explains what all of them were told, and have read."""

from __future__ import annotations

import pytest

from tests.harness.history import check_one_order, site_of

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]


def test_one_order_explains_what_clients_of_all_nodes_were_told(node_urls: list[str]) -> None:
    with site_of(node_urls, len(node_urls)) as site:
        check_one_order(site)
