"""A new world for every test of the contract."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.v1.world import World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database that holds a new sandbox and empty database, to be copied."""
    path = tmp_path_factory.mktemp("planted") / "leasehold.db"
    plant(path)
    return path


@pytest.fixture
def database(tmp_path: Path, planted: Path) -> Path:
    """Return a copy of it that the test may change."""
    path = tmp_path / "leasehold.db"
    shutil.copyfile(planted, path)
    return path


@pytest.fixture
def cloud_world(database: Path) -> Iterator[World]:
    """Yield the service over a cloud in which nothing is enrolled yet."""
    with world(database) as new:
        yield new


@pytest.fixture(scope="session")
def enrolled(tmp_path_factory: pytest.TempPathFactory, planted: Path) -> Path:
    """Return a database in which every host of the cloud is enrolled, to be copied: that takes longer than a test."""
    path = tmp_path_factory.mktemp("enrolled") / "leasehold.db"
    shutil.copyfile(planted, path)
    with world(path) as made:
        made.enrol_all()
    return path


@pytest.fixture
def full(tmp_path: Path, enrolled: Path) -> Iterator[World]:
    """Yield a world in which every host is enrolled, so that ordinary servers find no place."""
    path = tmp_path / "leasehold.db"
    shutil.copyfile(enrolled, path)
    with world(path) as new:
        yield new
