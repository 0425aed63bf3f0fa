"""The fixture `world`: a service with five hosts of three sizes, five addresses, and a clock set to 09:00."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.factory import Clock, make_service, open_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.factory import World


@pytest.fixture(scope="session")
def enrolled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the database that every `world` copies, because creating one takes longer than most tests."""
    folder = tmp_path_factory.mktemp("enrolled")
    with make_service(folder, addresses=range(200, 205)) as made:
        made.enrol("cmp-01", "cmp-02", rack="r1")
        made.enrol("cmp-06", "cmp-07", "gpu-03", rack="r2")
    return folder / "leasehold.db"


@pytest.fixture
def world(enrolled: Path, tmp_path: Path) -> Iterator[World]:
    """Yield a service with cmp-01 and cmp-02 (8 VCPUs), cmp-06 and cmp-07 (4), and gpu-03 (16 and two GPUs)."""
    shutil.copyfile(enrolled, tmp_path / "leasehold.db")
    made = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=Clock())
    yield made
    made.engine.dispose()
