"""A world on the sandbox, in the state in which the recorded Blazar left its cloud, with an empty database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox import seed
from leasehold.takeover.plan import make_plan
from leasehold.takeover.source import read_blazar
from leasehold.takeover.write import write_plan
from tests.factory import Clock, World, make_service
from tests.takeover.blazar import Rows, build_cloud, left_cloud, load, make_sqlite, replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leasehold.takeover.plan import ImportPlan

    Import = Callable[[Rows], ImportPlan]

NOW = datetime(2026, 11, 21, 12, 4, tzinfo=UTC)
"""A minute after the recording."""


def as_sandbox(rows: Rows) -> Rows:
    """Return the rows with the sandbox's network in place of the recorded one."""
    network = load()["floatingips"][0]
    return replaced(
        rows,
        {
            "172.24.4.": "203.0.113.",
            network["floating_network_id"]: seed.NETWORK_ID,
            network["subnet_id"]: seed.SUBNET_ID,
        },
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, clock=Clock(NOW)) as made:
        _build(made)
        yield made


def _build(world: World) -> None:
    names = [row["hypervisor_hostname"] for row in load()["computehosts"]]
    seed.add_hosts(
        world.engine,
        [seed.HostSpec(101 + at, name, name, 1000, 800_000, 600_000) for at, name in enumerate(names)],
    )
    build_cloud(world.cloud, as_sandbox(left_cloud()))


@pytest.fixture
def take_over(world: World, tmp_path: Path) -> Import:
    """Return a function that imports Blazar's rows into the world's database and returns the plan."""

    def run(rows: Rows) -> ImportPlan:
        url = make_sqlite(tmp_path / "blazar.db", as_sandbox(rows))
        plan = make_plan(read_blazar(url)[0], world.now())
        assert write_plan(world.service.db, plan, world.now())
        return plan

    return run
