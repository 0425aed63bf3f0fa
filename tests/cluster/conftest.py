"""One Galera cluster for each worker of a run; every test gets a database of its own on it, and finds it whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.scenes import galera_urls
from tests.servers.galera import GaleraCluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def three_nodes() -> Iterator[GaleraCluster]:
    with GaleraCluster() as cluster:
        yield cluster


@pytest.fixture
def galera(three_nodes: GaleraCluster) -> Iterator[GaleraCluster]:
    """Yield the cluster, with all its nodes in it; what a test cut off or killed is back afterwards."""
    yield three_nodes
    three_nodes.mend()


@pytest.fixture
def node_urls(galera: GaleraCluster) -> Iterator[list[str]]:
    """Yield the URL of one empty database on each node."""
    urls = galera_urls(galera)
    yield urls
    galera.mend()
    galera.drop_database(urls)
