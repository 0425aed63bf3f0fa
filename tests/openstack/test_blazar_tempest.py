"""Blazar's own acceptance tests, unmodified, the newest from the package index (contract clients §1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.openstack.leasehold import running_leasehold
from tests.openstack.tempest import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

# The tests wait for a full minute, and sleep in between; upstream needs 485 s for the scenarios.
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module", autouse=True)
def leasehold(cloud: RunningCloud) -> Iterator[None]:
    """Run a Leasehold as an operator would, with its endpoint in the catalogue."""
    with running_leasehold(cloud, "tempest"):
        yield


@pytest.mark.parametrize(("suite", "count"), [("api", 22), ("scenario", 8)])
def test_every_test_passes(cloud: RunningCloud, suite: str, count: int) -> None:
    results = run(cloud, suite)
    assert len(results.passed) == len(results.tests) == count, results.report()
