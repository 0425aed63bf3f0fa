"""Fixtures of the contract tests: each test gets a new world."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.v1.world import World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def cloud_world(tmp_path: Path) -> Iterator[World]:
    """Yield a world without enrolled hosts."""
    with world(plant(tmp_path)) as new:
        yield new


@pytest.fixture(scope="session")
def enrolled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with every host of the cloud enrolled; tests copy it, since enrolling is slower than a test."""
    path = plant(tmp_path_factory.mktemp("enrolled"))
    with world(path) as made:
        made.enrol_all()
    return path


@pytest.fixture
def full(tmp_path: Path, enrolled: Path) -> Iterator[World]:
    """Yield a world in which every host is enrolled, so that ordinary servers cannot be scheduled."""
    with world(Path(shutil.copy(enrolled, tmp_path))) as new:
        yield new
