"""The OpenStack for all tests in this folder, started once for the whole run, or once in each worker."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.openstack.ready import READY_WITHIN, cloud_number
from tests.selection import excluded_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leftovers import Listing

_HERE = Path(__file__).parent


@dataclass
class Course:
    """What is known of the tests that have run, to clean up after those that failed."""

    as_started: Listing | None = None
    """What was in the cloud before the first test; None: there was no cloud yet."""
    swept: int = 0
    """Failures after which `sweep` has run."""
    restored: int = 0
    """Failures after which `restore` has run."""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the last test began."""


COURSE = pytest.StashKey[Course]()


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
def course(request: pytest.FixtureRequest) -> Course:
    return request.config.stash.setdefault(COURSE, Course())


@pytest.fixture(scope="session")
def cloud(worker_id: str, course: Course) -> Iterator[RunningCloud]:
    """Yield our running cloud, or else a fresh one, which is stopped at the end; each worker has one of its own."""
    # Not loaded where `-m` excludes these tests.
    from tests.openstack.cloud import having_cloud  # noqa: PLC0415
    from tests.openstack.leftovers import listing  # noqa: PLC0415

    with having_cloud(cloud_number(worker_id)) as here:
        course.as_started = listing(here.connection())
        yield here


@pytest.fixture(scope="module", autouse=True)
def _after_a_file_that_failed(request: pytest.FixtureRequest, course: Course) -> None:
    """Put the cloud back as it was at the start if a test of the file before this one has failed."""
    if course.as_started is None or course.restored == request.session.testsfailed:
        return
    from tests.openstack.cleaning import restore  # noqa: PLC0415

    course.restored = course.swept = request.session.testsfailed
    for sentence in restore(request.getfixturevalue("cloud"), course.as_started):
        sys.stderr.write(f"Left by a test that failed before: {sentence}\n")


@pytest.fixture(autouse=True)
def _after_a_test_that_failed(request: pytest.FixtureRequest, course: Course) -> None:
    """Delete what the test before this one has left if it failed; what fixtures of the file have made stays."""
    if course.as_started is not None and course.swept != request.session.testsfailed:
        from tests.openstack.cleaning import sweep  # noqa: PLC0415

        course.swept = request.session.testsfailed
        sweep(request.getfixturevalue("cloud"), course.began)
    course.began = datetime.now(UTC)
