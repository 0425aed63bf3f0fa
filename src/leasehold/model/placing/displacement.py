"""Which servers have to go: what it costs that a server is moved or ended, and the choice that costs least. Pure.

One strategy says what a server costs, wherever servers give way to leases: where a shared host is drawn into the
reservation pool (features A4, F3), and where preemptible servers are ended because slots need their room (feature K1).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

MOST_STEPS = 20_000
"""Steps of the search for the cheapest servers; with more, the best choice found until then counts."""

Cost = tuple[int, ...]
"""What a server costs: whole numbers of which the first counts most. Costs of several servers are added by place."""


class ServerFate(StrEnum):
    """What becomes of a server whose room is needed."""

    MOVES = "moves"
    ENDS = "ends"
    """It is preemptible: it is ended now, or, on a host that is drawn, when a lease starts there."""


@dataclass(frozen=True, slots=True)
class Affected:
    """A server whose room may be needed: its fate, what it uses by resource class, its state, when it was requested."""

    id: str
    fate: ServerFate
    size: Mapping[str, int]
    status: str = "ACTIVE"
    created_at: datetime | None = None


class EvictionStrategy(Protocol):
    """Says what it costs that servers give way. Pure: the same servers always have the same costs."""

    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        """Return the cost of each of all servers that might have to go: tuples of one length, no number below 0.

        Those are chosen, and those hosts drawn, for which the sum is the least.
        """
        ...


class FewestServers:
    """As few servers as possible move, then as few as possible are ended, then as little memory as possible moves."""

    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        """Return one for each server, in the place of its fate, and the memory of those that move."""
        moving = [each.fate is ServerFate.MOVES for each in servers]
        return [
            (int(moves), int(not moves), each.size.get("MEMORY_MB", 0) if moves else 0)
            for each, moves in zip(servers, moving, strict=True)
        ]


class NewestFirst:
    """The oldest servers are spared first: one server costs more than all newer ones together."""

    def costs(self, servers: Sequence[Affected]) -> Sequence[Cost]:
        """Return powers of two."""
        ranks = {each.id: rank for rank, each in enumerate(sorted(servers, key=newest_first))}
        return [(1 << ranks[each.id],) for each in servers]


def newest_first(server: Affected) -> tuple[float, str]:
    """Return the key of an order: the newest come first."""
    return -(server.created_at.timestamp() if server.created_at else 0.0), server.id


def total(costs: Iterable[Cost], places: int) -> Cost:
    """Return the sum of costs of so many places."""
    added = [0] * places
    for cost in costs:
        added = [one + other for one, other in zip(added, cost, strict=True)]
    return tuple(added)


def cheapest_enough(
    servers: Sequence[Affected], costs: Sequence[Cost], lacking: Mapping[str, int]
) -> Sequence[Affected]:
    """Return the servers that together use at least what is lacking, with the least sum of costs; early ones of equals.

    All of them together use enough. If there are too many to try, a choice of which none can be left out.
    """
    classes = sorted(name for name, amount in lacking.items() if amount > 0)
    alike: dict[tuple[Cost, tuple[int, ...]], list[Affected]] = defaultdict(list)
    for server, cost in zip(servers, costs, strict=True):
        # More than what is lacking does not help more.
        alike[cost, tuple(min(server.size.get(name, 0), lacking[name]) for name in classes)].append(server)
    # The costliest come first: once one is left out, no choice with it is tried. Of these the largest come first.
    groups = sorted(alike, reverse=True)
    search = _Search(groups, [len(alike[group]) for group in groups])
    found = search.cheapest(tuple(lacking[name] for name in classes))
    return [server for group, count in zip(groups, found, strict=True) for server in alike[group][:count]]


@dataclass
class _Search:
    """Finds how many servers of each group are enough, for the least cost: branch and bound.

    A group has a cost and a size. For the groups from each place on, `least` is the least cost of a server, `most` the
    most that one has of each class, and `rest` what all of them have.
    """

    groups: Sequence[tuple[Cost, tuple[int, ...]]]
    counts: Sequence[int]
    least: list[Cost] = field(init=False)
    most: list[tuple[int, ...]] = field(init=False)
    rest: list[tuple[int, ...]] = field(init=False)
    best: tuple[Cost, list[int]] = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        tails = [self.groups[place:] for place in range(len(self.groups))]
        self.least = [min(cost for cost, _ in tail) for tail in tails]
        self.most = [tuple(map(max, zip(*(size for _, size in tail), strict=True))) for tail in tails]
        self.rest = []
        for place in reversed(range(len(self.groups))):
            own = tuple(self.counts[place] * each for each in self.groups[place][1])
            self.rest.insert(0, _plus(own, self.rest[0]) if self.rest else own)

    def cheapest(self, lacking: tuple[int, ...]) -> list[int]:
        """Return the number of servers of each group."""
        if not lacking:
            return [0] * len(self.groups)
        tries = (self._thinned(list(self.counts), lacking), self._thinned(self._largest_first(lacking), lacking))
        self.best = min((self._cost(counts), counts) for counts in tries)
        self._try(0, lacking, self._cost([0] * len(self.groups)), [])
        return self.best[1]

    def _cost(self, counts: Sequence[int]) -> Cost:
        costs = [tuple(count * each for each in cost) for count, (cost, _) in zip(counts, self.groups, strict=True)]
        return total(costs, len(self.groups[0][0]))

    def _try(self, place: int, lacking: tuple[int, ...], cost: Cost, chosen: list[int]) -> None:
        """Try the groups from a place on beside what is chosen, and keep what is better than the best so far."""
        self.steps += 1
        if max(lacking) <= 0:
            if cost < self.best[0]:
                self.best = cost, [*chosen, *[0] * (len(self.groups) - len(chosen))]
            return
        if place == len(self.groups) or self.steps >= MOST_STEPS:
            return
        if any(there < need for there, need in zip(self.rest[place], lacking, strict=True)):
            return
        pairs = list(zip(lacking, self.most[place], strict=True))
        fewest = max(-(-need // most) for need, most in pairs if need > 0)
        if _plus(cost, tuple(fewest * each for each in self.least[place])) >= self.best[0]:
            return
        own, size = self.groups[place]
        useful = max((-(-need // each) for need, each in zip(lacking, size, strict=True) if need > 0 < each), default=0)
        for count in range(min(useful, self.counts[place]), -1, -1):
            rest = tuple(need - count * each for need, each in zip(lacking, size, strict=True))
            self._try(place + 1, rest, _plus(cost, tuple(count * each for each in own)), [*chosen, count])

    def _largest_first(self, lacking: tuple[int, ...]) -> list[int]:
        """Return counts that are enough: always of the group that covers the largest part of what is left."""
        found = [0] * len(self.groups)
        left = list(lacking)
        while max(left) > 0:
            there = [place for place, count in enumerate(self.counts) if found[place] < count]
            best = max(there, key=partial(self._covered, left))
            found[best] += 1
            left = [need - each for need, each in zip(left, self.groups[best][1], strict=True)]
        return found

    def _covered(self, lacking: Sequence[int], place: int) -> float:
        """Return how much of what is lacking a server of a group covers, as a sum of parts."""
        pairs = zip(self.groups[place][1], lacking, strict=True)
        return sum(min(each, need) / need for each, need in pairs if need > 0)

    def _thinned(self, counts: list[int], lacking: tuple[int, ...]) -> list[int]:
        """Return counts without what is not needed, the costliest left out first."""
        spare = [-need for need in lacking]
        for count, (_, size) in zip(counts, self.groups, strict=True):
            spare = [left + count * each for left, each in zip(spare, size, strict=True)]
        found = list(counts)
        for place in sorted(range(len(counts)), key=self._costliest_first):
            size = self.groups[place][1]
            most = min((left // each for left, each in zip(spare, size, strict=True) if each), default=found[place])
            out = min(found[place], most)
            found[place] -= out
            spare = [left - out * each for left, each in zip(spare, size, strict=True)]
        return found

    def _costliest_first(self, place: int) -> tuple[Cost, int]:
        """Return the key of an order: the costliest come first, and of those as costly the smallest."""
        cost, size = self.groups[place]
        return tuple(-each for each in cost), sum(size)


def _plus(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(each + more for each, more in zip(one, other, strict=True))
