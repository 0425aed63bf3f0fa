"""Requests that may start later come at the same time: each gets the first window that is left, and no two the same."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.model.errors import NotEnoughError
from leasehold.model.lease import Lease
from tests.at_once import together
from tests.factory import World, hosts, make_service
from tests.race.test_explained_together import explained_together
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=HOSTS) as made:
        made.lease(hosts(), start=800, end=801)
        yield made


def wants(count: int, within: int, start: float = 1) -> Callable[[World], Lease]:
    return lambda world: world.lease(
        hosts(count), start=start, end=start + 1, ready_within=timedelta(hours=within) if within else None
    )


@pytest.mark.parametrize("how", ["decided together", "explained together"])
def test_each_gets_the_first_window_that_is_left(how: str, world: World) -> None:
    works = [wants(2, within=2)] * 8
    found = together(world, *works) if how == "decided together" else explained_together(world, 6, *works)
    granted = [each for each in found if isinstance(each, Lease)]
    assert Counter(each.window.start for each in granted) == {world.hour(1): 2, world.hour(2): 2, world.hour(3): 2}
    refused = [each for each in found if each not in granted]
    assert [type(each) for each in refused] == [NotEnoughError] * 2
    assert {each.details["nearest"]["start"] for each in refused} == {world.hour(4).isoformat()}
    audit(world)
