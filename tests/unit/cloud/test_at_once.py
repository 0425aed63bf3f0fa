"""Calls to one service are bounded in number; more wait for their turn, and not for long (decision 0139)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.deadline import deadline
from leasehold.cloud.openstack import connections
from leasehold.cloud.ports import CloudTransientError
from tests.processes import wait_for
from tests.unit.cloud.scripted import service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.openstack.rest import ServiceClient
    from tests.unit.cloud.scripted import Script

PATH = "/slow"


@pytest.fixture
def nova(tmp_path: Path, url: str, script: Script) -> Iterator[ServiceClient]:
    """Yield a client of a service that takes two calls at once, and answers none of them until the script is open."""
    script.answers, script.slow = [(200, {"x": 1})], frozenset({PATH})
    yield service(tmp_path, url, calls_at_once=2)
    script.open.set()


def slow_calls(script: Script) -> int:
    return sum(path == PATH for _, path, _ in script.asked)


def test_one_call_too_many_waits_for_its_turn_and_other_services_answer(nova: ServiceClient, script: Script) -> None:
    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(nova.get, "things.get", PATH) for _ in range(3)]
        wait_for(lambda: slow_calls(script) == 2)
        # A call to a service that hangs holds none of another one.
        for _ in range(3):
            assert replace(nova, name="neutron").get("things.get", "/quick") == {"x": 1}
        assert slow_calls(script) == 2
        assert not any(each.done() for each in asked)
        script.open.set()
        assert [each.result() for each in asked] == [{"x": 1}] * 3
    assert slow_calls(script) == 3


@pytest.mark.parametrize("bound", ["deadline", "patience"])
def test_who_waits_too_long_tries_again_later(
    nova: ServiceClient, script: Script, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """It has sent nothing; the place is not lost."""
    if bound == "patience":
        monkeypatch.setattr(connections, "PATIENCE", 0.01)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(nova.get, "things.get", PATH) for _ in range(2)]
        wait_for(lambda: slow_calls(script) == 2)
        too_many = pytest.raises(
            CloudTransientError, match=r"^nova things\.get: too many other calls to it have no answer"
        )
        with deadline(0.01 if bound == "deadline" else 60), too_many:
            nova.get("things.get", PATH)
        script.open.set()
        assert [each.result() for each in asked] == [{"x": 1}] * 2
    assert slow_calls(script) == 2
    assert nova.get("things.get", PATH) == {"x": 1}


def test_a_call_that_fails_gives_its_place_back(nova: ServiceClient, script: Script) -> None:
    script.open.set()
    script.answers = [(404, {})] * 5 + [(200, {"x": 1})]
    for _ in range(5):
        assert nova.get("things.get", PATH, none_on={404}) is None
    assert nova.get("things.get", PATH) == {"x": 1}
