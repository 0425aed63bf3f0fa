"""Each attack of the benchmark still works: its first request gets the expected answer."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from bench.attacks import ATTACKS, MANAGER_STOPS
from bench.fill import filled
from tests.processes import running

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

FEW_HOSTS = 20


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_the_answers_that_it_expects(tmp_path: Path, name: str) -> None:
    attack, url = ATTACKS[name], f"sqlite:///{tmp_path}/leasehold.db"
    filled(url, FEW_HOSTS)
    with (
        running("leasehold-api", database_url=url, options=attack.options) as api,
        running("leasehold-manager", database_url=url, options=MANAGER_STOPS),
        closing(attack.begin(api.url, attack.prepare(url, api.url))) as act,
    ):
        act(0)
