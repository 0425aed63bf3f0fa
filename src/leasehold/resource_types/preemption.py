"""Which preemptible servers are ended to make room: a policy, which an operator chooses by name (feature K1).

`[physical:host] preemption_order` names an entry point of the group `leasehold.preemption_orders`, a class without
arguments.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

from leasehold.resource_types.policies import load_policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.cloud.ports import Server
    from leasehold.conf.settings import CloudSettings

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.preemption_orders"
MOST_STEPS = 20_000
"""Steps of the search for the fewest servers; with more, the largest ones go first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A preemptible server of a host: what it uses there by resource class, its state, and when it was requested."""

    id: str
    amounts: Mapping[str, int]
    status: str = "ACTIVE"
    created_at: datetime | None = None


def stays_on_draw(server: Server, settings: CloudSettings) -> bool:
    """Return whether a server stays when its host is drawn into the reservation pool: a lease of the host ends it.

    Where no preemptible servers are expected, they are moved like others (`[physical:host] expect_preemptibles`).
    """
    return server.preemptible and settings.expect_preemptibles


class PreemptionOrder(Protocol):
    """Says which servers go first. Pure: the same servers and the same need always have the same answer."""

    def chosen(self, servers: Sequence[Candidate], lacking: Mapping[str, int]) -> Sequence[Candidate]:
        """Return servers that together use at least what is lacking, by resource class; they are ended.

        All of them together use enough. They are given newest first; those that are being deleted anyway are not given.
        """
        ...


class NewestFirst:
    """The newest go first, until there is room."""

    def chosen(self, servers: Sequence[Candidate], lacking: Mapping[str, int]) -> Sequence[Candidate]:
        """Return the newest ones."""
        left, found = Counter(lacking), list[Candidate]()
        for server in servers:
            if not _needs(left):
                break
            left.subtract(server.amounts)
            found.append(server)
        return found


class FewestServers:
    """As few servers as possible go, the newest of those that are alike."""

    def chosen(self, servers: Sequence[Candidate], lacking: Mapping[str, int]) -> Sequence[Candidate]:
        """Return the fewest that are enough; if there are very many kinds of them, the largest first."""
        classes = sorted(name for name, amount in lacking.items() if amount > 0)
        alike: dict[tuple[int, ...], list[Candidate]] = defaultdict(list)
        for server in servers:
            # More than what is lacking does not help more.
            alike[tuple(min(server.amounts.get(name, 0), lacking[name]) for name in classes)].append(server)
        sizes = sorted(alike, reverse=True)
        most = [tuple(map(max, zip(*sizes[place:], strict=True))) for place in range(len(sizes))]
        search = _Search(sizes, [len(alike[size]) for size in sizes], most)
        counts = search.fewest(tuple(lacking[name] for name in classes))
        return [server for size, count in zip(sizes, counts, strict=True) for server in alike[size][:count]]


@dataclass
class _Search:
    """Finds how many servers of each size are enough, with the fewest in all: tries one, two, three and so on."""

    sizes: Sequence[tuple[int, ...]]
    counts: Sequence[int]
    most: Sequence[Sequence[int]]
    """Of the sizes from each place on, the most that one server has of each class."""
    steps: int = 0

    def fewest(self, lacking: tuple[int, ...]) -> Sequence[int]:
        """Return the number of servers of each size."""
        for many in range(sum(self.counts) + 1):
            found = self._fit(0, many, lacking)
            if found is not None:
                return [*found, *[0] * (len(self.sizes) - len(found))]
            if self.steps >= MOST_STEPS:
                break
        return self._largest_first(lacking)

    def _fit(self, place: int, many: int, lacking: tuple[int, ...]) -> list[int] | None:
        """Return counts of the sizes from a place on, `many` at most in all, that are enough; None if none are."""
        self.steps += 1
        if max(lacking, default=0) <= 0:
            return []
        if place == len(self.sizes) or not many or self.steps >= MOST_STEPS:
            return None
        if any(many * most < need for most, need in zip(self.most[place], lacking, strict=True)):
            return None
        size = self.sizes[place]
        for count in range(min(many, self.counts[place]), -1, -1):
            rest = tuple(need - count * each for need, each in zip(lacking, size, strict=True))
            found = self._fit(place + 1, many - count, rest)
            if found is not None:
                return [count, *found]
        return None

    def _largest_first(self, lacking: tuple[int, ...]) -> Sequence[int]:
        """Return counts that are enough: always of the size that covers the largest part of what is left."""
        found = [0] * len(self.sizes)
        left = list(lacking)
        while max(left) > 0:
            there = [place for place, count in enumerate(self.counts) if found[place] < count]
            best = max(there, key=partial(self._covered, left))
            found[best] += 1
            left = [need - each for need, each in zip(left, self.sizes[best], strict=True)]
        return found

    def _covered(self, lacking: Sequence[int], place: int) -> float:
        """Return how much of what is lacking a server of a size covers, as a sum of parts."""
        pairs = zip(self.sizes[place], lacking, strict=True)
        return sum(min(each, need) / need for each, need in pairs if need > 0)


@cache
def load_preemption_order(name: str) -> PreemptionOrder:
    """Return the order of this name; raises PluginError if no package has it, or it does not load."""
    order: PreemptionOrder = load_policy(NAMESPACE, "[physical:host] preemption_order", name)
    return order


def servers_to_end(
    order: PreemptionOrder, servers: Sequence[Candidate], lacking: Mapping[str, int]
) -> Sequence[Candidate]:
    """Return the servers of a host to end so that what is lacking is free, by resource class; as far as that helps.

    Those that are being deleted come first. A plugin that raises, or whose choice is not enough, is logged, and the
    newest servers go.
    """
    newest = sorted(servers, key=_newest_first)
    going = NewestFirst().chosen([each for each in newest if each.status == "DELETING"], lacking)
    there = [each for each in newest if each.status != "DELETING"]
    left, most = Counter(lacking), Counter[str]()
    for each in going:
        left.subtract(each.amounts)
    for each in there:
        most.update(each.amounts)
    # What no server here uses is not to be had by ending servers.
    need = {name: min(amount, most[name]) for name, amount in left.items() if min(amount, most[name]) > 0}
    return [*going, *(_chosen(order, there, need) if need else ())]


def _chosen(order: PreemptionOrder, servers: Sequence[Candidate], need: Mapping[str, int]) -> Sequence[Candidate]:
    try:
        found = list(order.chosen(servers, need))
        left = Counter(need)
        for each in found:
            left.subtract(each.amounts)
        if _needs(left) or len({each.id for each in found}) < len(found) or any(each not in servers for each in found):
            message = "It has to return servers that it is given, each once, and enough of them."
            raise ValueError(message)  # noqa: TRY301 - logged below like what a plugin raises itself
    except Exception:
        log.exception("A bug in the preemption order %s: the newest servers go first", type(order).__name__)
        found = list(NewestFirst().chosen(servers, need))
    return found


def _needs(lacking: Mapping[str, int]) -> bool:
    return any(amount > 0 for amount in lacking.values())


def _newest_first(server: Candidate) -> tuple[float, str]:
    return -(server.created_at.timestamp() if server.created_at else 0.0), server.id
