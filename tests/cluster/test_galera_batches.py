"""On one node of a Galera cluster as on each database: each request of a batch is done wholly or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.scenes import galera_urls
from tests.harness.batches import Fault, Prepared, done_wholly_or_not_at_all, prepared_on
from tests.harness.stage import new_stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.galera import GaleraCluster

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def prepared(three_nodes: GaleraCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """Yield what is prepared on the first node."""
    three_nodes.mend()
    urls = galera_urls(three_nodes)
    with new_stage(urls[0], tmp_path_factory.mktemp("batches")) as stage:
        yield prepared_on(stage)
    three_nodes.drop_database(urls)


@pytest.mark.parametrize("fault", Fault)
def test_each_request_of_a_batch_is_done_wholly_or_not_at_all(prepared: Prepared, fault: Fault) -> None:
    done_wholly_or_not_at_all(prepared, "all", fault)
