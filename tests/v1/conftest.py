"""Fixtures of the contract tests: each test gets a new world."""

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
    """Return a database file with a new sandbox and empty tables; tests copy it."""
    path = tmp_path_factory.mktemp("planted") / "leasehold.db"
    plant(path)
    return path


@pytest.fixture
def database(tmp_path: Path, planted: Path) -> Path:
    """Return a copy of the planted database that the test may change."""
    path = tmp_path / "leasehold.db"
    shutil.copyfile(planted, path)
    return path


@pytest.fixture
def cloud_world(database: Path) -> Iterator[World]:
    """Yield a world without enrolled hosts."""
    with world(database) as new:
        yield new


@pytest.fixture(scope="session")
def enrolled(tmp_path_factory: pytest.TempPathFactory, planted: Path) -> Path:
    """Return a database with every host of the cloud enrolled; tests copy it, since enrolling is slower than a test."""
    path = tmp_path_factory.mktemp("enrolled") / "leasehold.db"
    shutil.copyfile(planted, path)
    with world(path) as made:
        made.enrol_all()
    return path


@pytest.fixture
def full(tmp_path: Path, enrolled: Path) -> Iterator[World]:
    """Yield a world in which every host is enrolled, so that ordinary servers cannot be scheduled."""
    path = tmp_path / "leasehold.db"
    shutil.copyfile(enrolled, path)
    with world(path) as new:
        yield new
