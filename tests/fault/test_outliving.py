"""A manager is paused in a call while another starts the lease and its owner deletes it: nothing is left over."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.fault import campaign

if TYPE_CHECKING:
    from pathlib import Path

SEED = 7
SAMPLE = 9
"""Moments of a start; `python -m tests.fault --outlive` runs all of them."""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_books_and_cloud_agree_after_a_manager_outlived_its_claim(tmp_path: Path) -> None:
    scenes = [scene for scene in campaign.SCENES if scene.name == "start now"]
    numbers = itertools.count()
    with campaign.stages(lambda: f"sqlite:///{tmp_path}/{next(numbers)}.db", lanes=3) as stages:
        rehearsed = campaign.rehearsals(stages, scenes)
        verdicts = campaign.stand_still(stages, rehearsed, lambda _verdict: None, (SEED, SAMPLE))
    assert [str(verdict) for verdict in verdicts if verdict.trouble] == [], f"seed {SEED}"
    assert len(verdicts) == SAMPLE
