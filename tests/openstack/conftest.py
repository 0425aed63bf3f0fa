"""The OpenStack for all tests in this folder, started once for the whole run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.openstack.cloud import READY_WITHIN, RunningCloud, having_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and set a timeout that allows for the cloud's start."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.openstack)
            if item.get_closest_marker("timeout") is None:
                # The first test waits for the cloud as well.
                item.add_marker(pytest.mark.timeout(READY_WITHIN))


@pytest.fixture(scope="session")
def cloud() -> Iterator[RunningCloud]:
    """Yield our running cloud, or else a fresh one, which is stopped at the end."""
    with having_cloud() as here:
        yield here
