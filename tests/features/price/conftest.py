"""The fixture `world`: a service on which hosts and instances have prices, three hosts and a fourth with a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.factory import make_service
from tests.features.price.prices import PRICED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.factory import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, settings=PRICED, hosts=["cmp-01", "cmp-02", "cmp-06"]) as world:
        world.enrol("cmp-05", gpu="A100")
        yield world
