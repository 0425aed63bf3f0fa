"""The fixture `scene`: a sandbox cloud for the plugins' drivers, in its initial state for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.db.engine import open_engine
from tests.unit.resource_types.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine


@pytest.fixture(scope="session")
def scene_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('scene')}/cloud.db")
    yield engine
    engine.dispose()


@pytest.fixture
def scene(scene_engine: Engine) -> Scene:
    return Scene(scene_engine)
