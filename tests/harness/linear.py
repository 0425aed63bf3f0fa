"""Searches one order of concurrent operations that explains all their answers: linearizability (Wing and Gong).

An operation takes effect at one moment between its start and its end. So one that ended before another started comes
first. One without an answer takes effect at any moment after its start, or never: its end is `NEVER`.

    stuck = explain(operations, first_state, step, reads)
    assert not stuck, stuck

`step(state, operation)` returns the state after the operation, or None where it could not have got its answer. The
search goes back where it fails, and remembers which operations led to which states, so that no state is entered twice.
One that `reads`, which changes nothing in any state in which it gets its answer, is put into the order as soon as it is
explained: it is as good there as later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

NEVER: Final = math.inf
MOST: Final = 200_000
"""So many states are entered before the search gives up."""


class Operation(Protocol):
    """What is known of an operation, in seconds of one clock."""

    @property
    def start(self) -> float:
        """When it was sent."""

    @property
    def end(self) -> float:
        """When its answer was there."""


Did = TypeVar("Did", bound=Operation)
State = TypeVar("State", bound="Hashable")


class UndecidedError(Exception):
    """The search has entered so many states that it gave up."""


@dataclass(frozen=True, slots=True)
class Stuck(Generic[Did]):
    """The longest order that was found, and the operations of which one would have to come next, and none can."""

    order: Sequence[Did]
    next: Sequence[Did]

    def __str__(self) -> str:
        """Return both as text."""
        lines = ["No order explains the answers. The longest:", *map(str, self.order), "Then none of these:"]
        return "\n  ".join([*lines, *map(str, self.next)])


@dataclass(frozen=True, slots=True)
class _Place(Generic[State]):
    """Where the search is: the operations of the order as bits, the state after them, and those that were put last."""

    done: int
    state: State
    put: tuple[int, ...]


def explain(
    operations: Sequence[Did],
    first: State,
    step: Callable[[State, Did], State | None],
    reads: Callable[[Did], bool],
    most: int = MOST,
) -> Stuck[Did] | None:
    """Return None if there is such an order, else where the search is stuck.

    Raises UndecidedError after `most` states.
    """
    history = sorted(operations, key=attrgetter("start"))
    search = _Search(history, step, [reads(each) for each in history])
    seen: set[tuple[int, State]] = set()
    place = search.settled(_Place(0, first, ()))
    path, longest = [(place, search.choices(place))], [place]
    while path:
        if search.complete(path[-1][0]):
            return None
        after = next(path[-1][1], None)
        if after is None:
            path.pop()
        elif (key := (after.done, after.state)) not in seen:
            seen.add(key)
            if len(seen) > most:
                message = f"{len(history)} operations, and no order after {most} states."
                raise UndecidedError(message)
            path.append((after, search.choices(after)))
            if after.done.bit_count() > longest[-1].done.bit_count():
                longest = [each for each, _ in path]
    order = [history[number] for each in longest for number in each.put]
    return Stuck(order, [history[number] for number in search.possible(longest[-1].done)])


@dataclass(frozen=True, slots=True)
class _Search(Generic[State, Did]):
    """A history by its starts, what an operation does, and which of them read."""

    history: Sequence[Did]
    step: Callable[[State, Did], State | None]
    reads: Sequence[bool]

    def complete(self, place: _Place[State]) -> bool:
        """Say whether only operations are left that may never have taken effect."""
        return all(place.done >> number & 1 or each.end == NEVER for number, each in enumerate(self.history))

    def possible(self, done: int) -> list[int]:
        """Return the operations that may come next, the first to end first: no other one ended before their start."""
        left = [number for number in range(len(self.history)) if not done >> number & 1]
        until = min((self.history[number].end for number in left), default=NEVER)
        found = [number for number in left if self.history[number].start <= until]
        return sorted(found, key=lambda number: self.history[number].end)

    def settled(self, place: _Place[State]) -> _Place[State]:
        """Put the reads that are explained, as long as there are any."""
        done, put = place.done, list(place.put)
        while True:
            read = [number for number in self.possible(done) if self.reads[number] and self._fits(place.state, number)]
            if not read:
                return _Place(done, place.state, tuple(put))
            done |= sum(1 << number for number in read)
            put += read

    def _fits(self, state: State, number: int) -> bool:
        return self.step(state, self.history[number]) is not None

    def choices(self, place: _Place[State]) -> Iterator[_Place[State]]:
        """Yield where each operation leads that may come next."""
        for number in self.possible(place.done):
            state = None if self.reads[number] else self.step(place.state, self.history[number])
            if state is not None:
                yield self.settled(_Place(place.done | 1 << number, state, (number,)))
