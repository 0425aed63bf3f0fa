"""Who waits in this process while others of the same pools are decided; those that wait are decided together next."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST: Final = 64
"""How many are decided together."""


class Permit(Protocol):
    """What lets a request run; while it waits for its turn, others may have it."""

    def stand_in_line(self) -> float | None:
        """Lend it, and return how many seconds the request may wait; None: it is kept, for as long as it takes."""

    def take_again(self) -> None:
        """Acquire it before more work; raises an error if that takes too long."""

    def late(self) -> Exception:
        """Return the error of a request that has waited too long."""


IN_LINE: ContextVar[Permit | None] = ContextVar("in_line", default=None)
"""The permit of the request of this context; None for work that needs none."""


@dataclass(slots=True, eq=False)
class Queued:
    """One who may have to wait for these pools; `turn` is set when it is decided, or when it `leads` what is next."""

    pools: frozenset[str]
    project_id: str
    leads: bool = field(default=False, init=False)
    turn: Event = field(default_factory=Event, init=False)


One = TypeVar("One", bound=Queued)


class Queues:
    """A queue for each set of pools; whoever comes while nobody is decided does not wait."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._waiting: dict[frozenset[str], list[Queued]] = {}

    @property
    def waiting(self) -> int:
        """How many wait now."""
        with self._guard:
            return sum(map(len, self._waiting.values()))

    def busy(self, pools: frozenset[str]) -> bool:
        """Say whether who comes now waits."""
        return pools in self._waiting

    def decide(self, one: One, decide: Callable[[Sequence[One]], None]) -> None:
        """Return when one is decided, with those of its class that wait; `decide` does that. Raises what it raises.

        It gets the first of each project, in the order in which they came, then the second of each, and so on. Raises
        the error of a permit for one that waits too long; nothing is decided about it then.
        """
        if self._waits(one):
            try:
                self._wait(one)
            except BaseException:
                self._leave(one)
                raise
            if not one.leads:
                return
        batch = [one]
        try:
            batch = self._batch(one)
            decide(batch)
        finally:
            self._hand_on(one.pools)
            for each in batch[1:]:
                each.turn.set()

    def _wait(self, one: Queued) -> None:
        permit = IN_LINE.get()
        patience = None if permit is None else permit.stand_in_line()
        if permit is not None and not one.turn.wait(patience) and self._withdraws(one):
            raise permit.late()
        # Whoever is being decided waits for that, however long it takes.
        one.turn.wait()

    def _waits(self, one: Queued) -> bool:
        with self._guard:
            waiting = self._waiting.get(one.pools)
            if waiting is None:
                self._waiting[one.pools] = []
                return False
            waiting.append(one)
            return True

    def _batch(self, one: One) -> list[One]:
        of_project: dict[str, list[Any]] = {}
        with self._guard:
            waiting = self._waiting[one.pools]
            every: list[Any] = [one, *waiting]
            for each in every:
                of_project.setdefault(each.project_id, []).append(each)
            in_turn = chain.from_iterable(zip_longest(*of_project.values()))
            batch = [each for each in in_turn if each is not None][:MOST]
            self._waiting[one.pools] = [each for each in waiting if each not in batch]
        return batch

    def _leave(self, one: Queued) -> None:
        """Wait no more, and lead nobody."""
        self._withdraws(one)
        if one.leads:
            self._hand_on(one.pools)

    def _withdraws(self, one: Queued) -> bool:
        """Wait no more, and say whether it did: nobody leads it or decides about it."""
        with self._guard:
            waiting = self._waiting.get(one.pools, [])
            waits = one in waiting
            if waits:
                waiting.remove(one)
            return waits

    def _hand_on(self, pools: frozenset[str]) -> None:
        """Let the first of those lead who wait, if any do."""
        with self._guard:
            waiting = self._waiting[pools]
            if not waiting:
                del self._waiting[pools]
                return
            first = waiting.pop(0)
            first.leads = True
        first.turn.set()
