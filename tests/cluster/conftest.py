"""One Galera cluster for each worker of a run; every test gets a new database on it and a healthy cluster."""

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
    """Yield the cluster with all its nodes; afterwards, restore the nodes that a test isolated or killed."""
    yield three_nodes
    three_nodes.mend()


@pytest.fixture
def node_urls(galera: GaleraCluster) -> Iterator[list[str]]:
    """Yield the URL of one empty database on each node."""
    urls = galera_urls(galera)
    yield urls
    galera.mend()
    galera.drop_database(urls)
