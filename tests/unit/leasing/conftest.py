"""The fixture `scene`: an active lease of every resource type, beside a pending and an ended lease, at hour 2."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.factory import START, Clock, open_service
from tests.unit.leasing.looking import lease_of_everything, scene_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.leasing.looking import Scene


@pytest.fixture(scope="session")
def busy(enrolled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the database that every `scene` copies."""
    path = tmp_path_factory.mktemp("busy") / "leasehold.db"
    shutil.copyfile(enrolled, path)
    world = open_service(f"sqlite:///{path}", clock=Clock())
    lease_of_everything(world)
    world.engine.dispose()
    return path


@pytest.fixture
def scene(busy: Path, tmp_path: Path) -> Iterator[Scene]:
    shutil.copyfile(busy, tmp_path / "busy.db")
    world = open_service(f"sqlite:///{tmp_path}/busy.db", clock=Clock(START + timedelta(hours=2, seconds=1)))
    yield scene_of(world)
    world.engine.dispose()
