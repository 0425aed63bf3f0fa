"""Two kinds of fault between "before" and "after": a half-done call, and a connection that breaks after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudTransientError
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.faults import Fault
from tests.factory import make_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.sandbox.cloud import SandboxCloud

ADDRESS = (seed.NETWORK_ID, seed.SUBNET_ID, "203.0.113.200", "demo", frozenset({"a", "b"}))


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SandboxCloud]:
    with make_service(tmp_path) as world:
        yield world.cloud


def test_half_a_call_leaves_the_first_thing_that_it_wrote(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("networks.*", error="half", remaining=1))
    with pytest.raises(CloudTransientError, match="half-way"):
        cloud.networks.create_floating_ip(*ADDRESS)
    there = cloud.networks.floating_ip(seed.NETWORK_ID, "203.0.113.200")
    assert there is not None
    assert there.tags == frozenset()
    assert cloud.networks.create_floating_ip(*ADDRESS).tags == {"a", "b"}


def test_a_call_that_writes_one_thing_is_never_half_done(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("*", error="half"))
    cloud.aggregates.add_host("freepool", "cmp-01")
    cloud.faults.clear()
    assert "cmp-01" in cloud.aggregates.list()[0].hosts


def test_a_connection_that_breaks_hides_that_all_was_done(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("aggregates.*", error="reset"))
    with pytest.raises(CloudTransientError, match="Connection reset by peer"):
        cloud.aggregates.add_host("freepool", "cmp-01")
    cloud.faults.clear()
    assert "cmp-01" in cloud.aggregates.list()[0].hosts
