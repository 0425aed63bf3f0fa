"""The OpenStack that everything in this folder runs on, started once for the whole run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.openstack.cloud import READY_WITHIN, RunningCloud, having_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder: it needs the cloud, and time."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.openstack)
            if item.get_closest_marker("timeout") is None:
                # The first one waits for the cloud as well.
                item.add_marker(pytest.mark.timeout(READY_WITHIN))


@pytest.fixture(scope="session")
def cloud() -> Iterator[RunningCloud]:
    """Yield the cloud of ours that runs, or one that starts now, without a history, and stops in the end."""
    with having_cloud() as here:
        yield here
