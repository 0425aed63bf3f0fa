"""The OpenStack for all tests in this folder, started once for the whole run, or once in each worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.openstack.ready import READY_WITHIN, cloud_number
from tests.selection import excluded_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

_HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Do not import the tests of this folder if `-m` excludes all of them."""
    return "openstack" in excluded_marks(config.option.markexpr) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and set a timeout that allows for the cloud's start."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.openstack)
            if item.get_closest_marker("timeout") is None:
                # The first test waits for the cloud as well.
                item.add_marker(pytest.mark.timeout(READY_WITHIN))


@pytest.fixture(scope="session")
def cloud(worker_id: str) -> Iterator[RunningCloud]:
    """Yield our running cloud, or else a fresh one, which is stopped at the end; each worker has one of its own."""
    from tests.openstack.cloud import having_cloud  # noqa: PLC0415 - not loaded where `-m` excludes these tests.

    with having_cloud(cloud_number(worker_id)) as here:
        yield here
