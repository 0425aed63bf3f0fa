"""Which servers give way to leases is one policy: on hosts that are drawn (A4, F3), and where slots need room (K1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leasehold.conf.settings import CloudSettings
from leasehold.model.placing.displacement import (
    Affected,
    Cost,
    FewestServers,
    NewestFirst,
    ServerFate,
    cheapest_enough,
    total,
)
from leasehold.model.placing.draw import Drawable, Guest
from leasehold.resource_types.registry import PluginError
from leasehold.resource_types.strategy import load_strategy, ranked, servers_to_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

pytestmark = pytest.mark.slow

BEGIN = datetime(2031, 5, 1, tzinfo=UTC)
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")

SIZES = st.fixed_dictionaries({name: st.integers(0, 6) for name in CLASSES})
NEEDS = st.fixed_dictionaries({name: st.integers(-3, 14) for name in CLASSES})


def servers_of(sizes: Sequence[Mapping[str, int]], statuses: Sequence[str] = ()) -> list[Affected]:
    """Return servers of these sizes, the oldest first."""
    words = [*statuses, *["ACTIVE"] * len(sizes)]
    return [
        Affected(f"s{number}", ServerFate.ENDS, size, words[number], BEGIN + timedelta(seconds=number))
        for number, size in enumerate(sizes)
    ]


def enough(servers: Iterable[Affected], lacking: Mapping[str, int]) -> bool:
    chosen = list(servers)
    return all(sum(each.size.get(name, 0) for each in chosen) >= amount for name, amount in lacking.items())


def reachable(servers: Sequence[Affected], lacking: Mapping[str, int]) -> dict[str, int]:
    """Return what is lacking as far as these servers use it."""
    return {name: min(amount, sum(each.size.get(name, 0) for each in servers)) for name, amount in lacking.items()}


@given(st.lists(SIZES, max_size=7), NEEDS)
@example([{"VCPU": 1}, {"VCPU": 1}, {"VCPU": 2}], {"VCPU": 2})
@example([{"VCPU": 3, "DISK_GB": 1}, {"VCPU": 1, "DISK_GB": 3}, {"VCPU": 2, "DISK_GB": 2}], {"VCPU": 4, "DISK_GB": 4})
def test_the_default_disturbs_the_fewest(sizes: list[dict[str, int]], lacking: dict[str, int]) -> None:
    servers = servers_of(sizes)
    need = reachable(servers, lacking)
    ended = servers_to_end(load_strategy(CloudSettings().displacement_strategy), servers, lacking)
    assert enough(ended, need)
    fewest = next(
        many for many in range(len(servers) + 1) if any(enough(each, need) for each in combinations(servers, many))
    )
    assert len(ended) == fewest


@given(st.lists(SIZES, max_size=7), NEEDS)
def test_the_oldest_are_spared_first_and_none_goes_too_many(
    sizes: list[dict[str, int]], lacking: dict[str, int]
) -> None:
    servers = servers_of(sizes)
    need = reachable(servers, lacking)
    ended = servers_to_end(NewestFirst(), servers, lacking)
    left = list(servers)
    for each in servers:
        if enough([other for other in left if other is not each], need):
            left.remove(each)
    assert {each.id for each in ended} == {each.id for each in left}


@given(
    st.lists(st.tuples(SIZES, st.tuples(st.integers(0, 2), st.integers(0, 3))), min_size=1, max_size=7),
    NEEDS,
)
def test_no_other_choice_costs_less(
    servers_with_costs: list[tuple[dict[str, int], tuple[int, int]]], lacking: dict[str, int]
) -> None:
    servers = servers_of([size for size, _ in servers_with_costs])
    costs = {server.id: cost for server, (_, cost) in zip(servers, servers_with_costs, strict=True)}

    def cost_of(chosen: Iterable[Affected]) -> Cost:
        return total((costs[each.id] for each in chosen), 2)

    need = {name: amount for name, amount in reachable(servers, lacking).items() if amount > 0}
    found = cheapest_enough(servers, list(costs.values()), need)
    assert enough(found, need)
    choices = [each for many in range(len(servers) + 1) for each in combinations(servers, many) if enough(each, need)]
    assert cost_of(found) == min(map(cost_of, choices))


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
    lacking = {name: sum(each.size[name] for each in servers) // 2 for name in CLASSES}
    ended = servers_to_end(FewestServers(), servers, lacking)
    assert enough(ended, lacking)
    assert not any(enough([each for each in ended if each is not one], lacking) for one in ended)
    assert len(ended) <= len(servers_to_end(NewestFirst(), servers, lacking))


def host(number: int, *memory: int, stay: int = 0) -> Drawable:
    """Return a host with a server to move for each of these amounts of memory, and so many that stay."""
    guests = [Guest(f"{number}-{each}", "ACTIVE", stays=False, size={"MEMORY_MB": each}) for each in memory]
    guests += [Guest(f"{number}-stays-{each}", "SHUTOFF", stays=True, size={"MEMORY_MB": 9}) for each in range(stay)]
    return Drawable(number, f"h{number}", tuple(guests))


HOSTS = [host(1, 5, 5), host(2, 8), host(3, 7), host(4), host(5, stay=3), host(6, 6, stay=1)]


class Stopped:
    """Servers that do not run cost less than others: a strategy may look at their states."""

    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        return [(int(each.status != "SHUTOFF"), 1) for each in servers]


class Raising:
    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        raise ValueError(len(servers))


class TooFew:
    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        return [(1,)] * (len(servers) - 1)


class Negative:
    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        return [(-1,)] * len(servers)


class Uneven:
    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        return [(1,) * place for place, _ in enumerate(servers, 1)]


class Nothing:
    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        return [()] * len(servers)


def test_hosts_are_drawn_by_the_sum_of_their_costs() -> None:
    assert [each.number for each in ranked(FewestServers(), HOSTS[::-1])] == [4, 5, 3, 2, 6, 1]
    assert [each.number for each in ranked(Stopped(), HOSTS)] == [4, 5, 2, 3, 6, 1]
    assert ranked(FewestServers(), []) == []


def test_servers_are_ended_by_their_states_too() -> None:
    servers = servers_of([{"VCPU": 4}, {"VCPU": 2}, {"VCPU": 2}], ["ACTIVE", "SHUTOFF", "SHUTOFF"])
    assert [each.id for each in servers_to_end(Stopped(), servers, {"VCPU": 4})] == ["s2", "s1"]
    assert [each.id for each in servers_to_end(FewestServers(), servers, {"VCPU": 4})] == ["s0"]


BUGS = [Raising(), TooFew(), Negative(), Uneven(), Nothing()]


@pytest.mark.parametrize("strategy", BUGS, ids=lambda each: type(each).__name__)
def test_a_bug_of_a_plugin_is_logged_and_the_fewest_servers_go(
    strategy: Raising, caplog: pytest.LogCaptureFixture
) -> None:
    servers = servers_of([{"VCPU": 1}] * 4)
    assert [each.id for each in servers_to_end(strategy, servers, {"VCPU": 2})] == ["s3", "s2"]
    assert [each.number for each in ranked(strategy, HOSTS)] == [4, 5, 3, 2, 6, 1]
    assert caplog.text.count(f"A bug in the displacement strategy {type(strategy).__name__}") == 2


def test_a_name_that_nothing_provides_stops_the_start() -> None:
    assert isinstance(load_strategy("newest_first"), NewestFirst)
    with pytest.raises(PluginError, match=r"displacement_strategy names 'oldest'"):
        load_strategy("oldest")
