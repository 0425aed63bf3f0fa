"""Give resources to demands that only some of them meet, each to one: by augmenting paths. Pure.

The sets of demands that can be met together are independent sets of a matroid, and so are the sets of resources that
can serve together. A demand that was met once stays met, and taking resources in the order of costs is the cheapest.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet


@dataclass
class Assignment:
    """Which resources serve each demand; `fits` are the numbers of those that may serve a demand, by its key.

    `free` are those that serve none. A change keeps every demand met as it was.
    """

    fits: Mapping[int, AbstractSet[int]]
    free: set[int]
    serving: dict[int, set[int]] = field(default_factory=dict)

    def copy(self) -> Assignment:
        """Return the same assignment, to be changed by itself."""
        return Assignment(self.fits, set(self.free), {key: set(numbers) for key, numbers in self.serving.items()})

    @property
    def many(self) -> int:
        """How many resources serve."""
        return sum(map(len, self.serving.values()))

    def serve(self, demand: int) -> bool:
        """Let one more resource serve a demand; others may swap. False, and nothing changes, if that is impossible."""
        taken: dict[int, tuple[int, int]] = {}
        reached = [demand]
        for key in reached:
            spare = self.fits[key] & self.free
            if spare:
                self._pass_on(min(spare), key, demand, taken)
                return True
            for other, numbers in self.serving.items():
                if other != demand and other not in taken:
                    wanted = self.fits[key] & numbers
                    if wanted:
                        taken[other] = key, min(wanted)
                        reached.append(other)
        return False

    def _pass_on(self, number: int, key: int, demand: int, taken: Mapping[int, tuple[int, int]]) -> None:
        """Let a free resource serve a demand, which leaves another one to the demand that takes it, and so on."""
        self.free.discard(number)
        self.serving.setdefault(key, set()).add(number)
        while key != demand:
            taker, given = taken[key]
            self.serving[key].discard(given)
            self.serving.setdefault(taker, set()).add(given)
            key = taker


def cheapest(ranked: Iterable[int], fits: Mapping[int, AbstractSet[int]], wanted: Mapping[int, int]) -> dict[int, int]:
    """Return by number which demand each resource serves that is needed so that each has as many as are wanted.

    The demands can be met together. `ranked` has the resources by their costs, the cheapest first: no other choice
    costs less, whatever the costs are that they are ranked by.
    """
    choice = _Choice(fits, dict(wanted))
    for number in ranked:
        if not any(choice.left.values()):
            break
        choice.take(number)
    return {number: key for key, numbers in choice.serving.items() for number in numbers}


@dataclass
class _Choice:
    """The resources that serve so far, and how many each demand still wants.

    If a resource cannot serve too, the demands that it could reach are `full`: none that serves them can serve others.
    """

    fits: Mapping[int, AbstractSet[int]]
    left: dict[int, int]
    full: set[int] = field(default_factory=set)
    serving: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def take(self, number: int) -> None:
        """Let a resource serve too, if with others swapped there is a demand left for all of them."""
        pushed: dict[int, tuple[int | None, int]] = {}
        reached: list[tuple[int | None, set[int]]] = [(None, {number})]
        for source, numbers in reached:
            for key, able in self.fits.items():
                if key in pushed or key in self.full or not (movable := able & numbers):
                    continue
                pushed[key] = source, min(movable)
                if self.left.get(key, 0) > 0:
                    self._push(key, pushed)
                    return
                reached.append((key, self.serving[key]))
        self.full.update(pushed)

    def _push(self, key: int, pushed: Mapping[int, tuple[int | None, int]]) -> None:
        self.left[key] -= 1
        source: int | None = key
        while source is not None:
            key = source
            source, number = pushed[key]
            self.serving[key].add(number)
            if source is not None:
                self.serving[source].discard(number)
