"""Feature K1: which preemptible servers are ended is a policy; the default one ends the fewest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leasehold.conf.settings import CloudSettings
from leasehold.resource_types.preemption import (
    Candidate,
    FewestServers,
    NewestFirst,
    load_preemption_order,
    servers_to_end,
)
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

pytestmark = pytest.mark.slow

BEGIN = datetime(2031, 5, 1, tzinfo=UTC)
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")

SIZES = st.fixed_dictionaries({name: st.integers(0, 6) for name in CLASSES})
NEEDS = st.fixed_dictionaries({name: st.integers(-3, 14) for name in CLASSES})


def servers_of(sizes: Sequence[Mapping[str, int]], statuses: Sequence[str] = ()) -> list[Candidate]:
    """Return servers of these sizes, the oldest first."""
    words = [*statuses, *["ACTIVE"] * len(sizes)]
    return [
        Candidate(f"s{number}", size, words[number], BEGIN + timedelta(seconds=number))
        for number, size in enumerate(sizes)
    ]


def enough(servers: Iterable[Candidate], lacking: Mapping[str, int]) -> bool:
    chosen = list(servers)
    return all(sum(each.amounts.get(name, 0) for each in chosen) >= amount for name, amount in lacking.items())


def reachable(servers: Sequence[Candidate], lacking: Mapping[str, int]) -> dict[str, int]:
    """Return what is lacking as far as these servers use it."""
    return {name: min(amount, sum(each.amounts.get(name, 0) for each in servers)) for name, amount in lacking.items()}


@given(st.lists(SIZES, max_size=7), NEEDS)
@example([{"VCPU": 1}, {"VCPU": 1}, {"VCPU": 2}], {"VCPU": 2})
@example([{"VCPU": 3, "DISK_GB": 1}, {"VCPU": 1, "DISK_GB": 3}, {"VCPU": 2, "DISK_GB": 2}], {"VCPU": 4, "DISK_GB": 4})
def test_the_default_disturbs_the_fewest(sizes: list[dict[str, int]], lacking: dict[str, int]) -> None:
    servers = servers_of(sizes)
    need = reachable(servers, lacking)
    ended = servers_to_end(load_preemption_order(CloudSettings().preemption_order), servers, lacking)
    assert enough(ended, need)
    fewest = next(
        many for many in range(len(servers) + 1) if any(enough(each, need) for each in combinations(servers, many))
    )
    assert len(ended) == fewest


@given(st.lists(SIZES, max_size=7), NEEDS)
def test_the_newest_go_first_and_none_too_many(sizes: list[dict[str, int]], lacking: dict[str, int]) -> None:
    servers = servers_of(sizes)
    need = reachable(servers, lacking)
    ended = servers_to_end(NewestFirst(), servers, lacking)
    assert list(ended) == servers[::-1][: len(ended)]
    assert enough(ended, need)
    assert not ended or not enough(ended[:-1], need)


@given(st.lists(SIZES, max_size=7), NEEDS, st.data())
def test_those_that_are_being_deleted_count_first(
    sizes: list[dict[str, int]], lacking: dict[str, int], data: st.DataObject
) -> None:
    statuses = data.draw(st.lists(st.sampled_from(["ACTIVE", "DELETING"]), min_size=len(sizes), max_size=len(sizes)))
    servers = servers_of(sizes, statuses)
    going = [each for each in servers if each.status == "DELETING"]
    ended = servers_to_end(FewestServers(), servers, lacking)
    assert enough(ended, reachable(servers, lacking))
    if enough(going, lacking):
        assert all(each.status == "DELETING" for each in ended)


def test_of_servers_that_are_alike_the_newest_goes() -> None:
    servers = servers_of([{"VCPU": 1}, {"VCPU": 4}, {"VCPU": 4}, {"VCPU": 1}])
    assert [each.id for each in servers_to_end(FewestServers(), servers, {"VCPU": 3})] == ["s2"]


def test_very_many_kinds_of_servers_are_answered_too() -> None:
    """The search is bounded; beyond its bound the largest go first."""
    servers = servers_of([{name: 1 + 7**place * each % 97 for place, name in enumerate(CLASSES)} for each in range(90)])
    lacking = {name: sum(each.amounts[name] for each in servers) // 2 for name in CLASSES}
    ended = servers_to_end(FewestServers(), servers, lacking)
    assert enough(ended, lacking)
    assert len(ended) < len(servers_to_end(NewestFirst(), servers, lacking))


class Raising:
    def chosen(self, servers: Sequence[Candidate], lacking: Mapping[str, int]) -> Sequence[Candidate]:
        raise ValueError(len(servers), lacking)


class TooFew:
    def chosen(self, servers: Sequence[Candidate], lacking: Mapping[str, int]) -> Sequence[Candidate]:
        return servers[:1]


class Strangers:
    def chosen(self, servers: Sequence[Candidate], lacking: Mapping[str, int]) -> Sequence[Candidate]:
        return [*servers, Candidate("another", lacking)]


class Twice:
    def chosen(self, servers: Sequence[Candidate], lacking: Mapping[str, int]) -> Sequence[Candidate]:
        return [*servers, *servers]


@pytest.mark.parametrize("order", [Raising(), TooFew(), Strangers(), Twice()], ids=lambda each: type(each).__name__)
def test_a_bug_of_a_plugin_is_logged_and_the_newest_go(order: Raising, caplog: pytest.LogCaptureFixture) -> None:
    servers = servers_of([{"VCPU": 1}] * 4)
    assert [each.id for each in servers_to_end(order, servers, {"VCPU": 2})] == ["s3", "s2"]
    assert type(order).__name__ in caplog.text


def test_a_name_that_nothing_provides_stops_the_start() -> None:
    with pytest.raises(PluginError, match=r"preemption_order names 'oldest'"):
        load_preemption_order("oldest")
