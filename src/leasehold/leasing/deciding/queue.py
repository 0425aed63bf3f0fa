"""Who waits in this process while others of the same kind are done; those that wait are done together next.

The first is done at once, by itself: whoever is alone waits for nobody. Requests wait by their pools (decision 0125),
the steps of leases by what is written about them (decision 0127), and who reads a lease for those who do (0130).
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

MOST: Final = 64
"""How many are done together."""
ALONE: Final = object()
"""The outcome of what has to be done in a transaction of its own."""


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


def _locked() -> Lock:
    lock = Lock()
    lock.acquire()
    return lock


@dataclass(slots=True, eq=False)
class Queued:
    """One who may have to wait for others with this key.

    `turn` is locked until it is done, or `leads` what is next; `outcome` is what was returned or raised. Who has
    waited for as long as its `patience` is done alone: those before it may wait for a lock. None: it has no end.
    One that only `reads` keeps its permit, because its request has more to do then, and never waits any longer.
    """

    patience: ClassVar[float | None] = None
    reads: ClassVar[bool] = False
    key: Hashable
    project_id: str
    outcome: Any = field(default=ALONE, init=False)
    leads: bool = field(default=False, init=False)
    turn: Lock = field(default_factory=_locked, init=False)

    def taken(self) -> Any:
        """Return the outcome and forget it: by its traceback an error keeps who waited, until both are collected."""
        outcome, self.outcome = self.outcome, None
        return outcome


@dataclass(slots=True, eq=False)
class Reading(Queued):
    """Who reads what others read as well; not for long, because the connection of who reads for all may have died."""

    patience: ClassVar[float | None] = 0.25
    reads: ClassVar[bool] = True


One = TypeVar("One", bound=Queued)
Result = TypeVar("Result")


class Queues:
    """A queue for each key; whoever comes while nobody is before it does not wait."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._waiting: dict[Hashable, list[Queued]] = {}

    @property
    def waiting(self) -> int:
        """How many wait now."""
        with self._guard:
            return sum(map(len, self._waiting.values()))

    def busy(self, key: Hashable) -> bool:
        """Say whether who comes now waits."""
        return key in self._waiting

    def share(self, one: One, alone: Callable[[], Result], together: Callable[[Sequence[One]], None]) -> Result:
        """Return or raise the outcome: that of `alone`, or what `together` sets with those that wait."""

        def decide(batch: Sequence[One]) -> None:
            if len(batch) > 1:
                together(batch)
            else:
                one.outcome = alone()

        self.decide(one, decide)
        if isinstance(one.outcome, Exception):
            raise one.taken()
        if one.outcome is ALONE:
            if (permit := IN_LINE.get()) is not None:
                permit.take_again()
            return alone()
        result: Result = one.outcome
        return result

    def decide(self, one: One, decide: Callable[[Sequence[One]], None]) -> None:
        """Return when one is decided, with those of its class that wait; `decide` does that. Raises what it raises.

        It gets the first of each project, in the order in which they came, then the second of each, and so on. Raises
        the error of a permit for one that waits too long; nothing is decided about it then.
        """
        if self._waits(one):
            try:
                if not self._gets_turn(one):
                    return
            except BaseException:
                if not self._leave(one) and one.leads:
                    self._hand_on(one.key)
                raise
            if not one.leads:
                return
        batch = [one]
        try:
            batch = self._batch(one)
            decide(batch)
        finally:
            self._hand_on(one.key)
            for each in batch[1:]:
                each.turn.release()

    def _gets_turn(self, one: Queued) -> bool:
        """Wait, and return whether its turn came before its patience ended; raises the error of its permit if not."""
        permit = None if one.reads else IN_LINE.get()
        patience = one.patience if permit is None else permit.stand_in_line()
        if one.turn.acquire(timeout=-1 if patience is None else patience):
            return True
        if self._leave(one) or (one.reads and not one.leads):
            if permit is not None:
                raise permit.late()
            return False
        # Whoever is being decided, or leads, waits for that, however long it takes.
        return one.turn.acquire()

    def _waits(self, one: Queued) -> bool:
        with self._guard:
            waiting = self._waiting.get(one.key)
            if waiting is None:
                self._waiting[one.key] = []
                return False
            waiting.append(one)
            return True

    def _batch(self, one: One) -> list[One]:
        of_project: dict[str, list[Any]] = {}
        with self._guard:
            waiting = self._waiting[one.key]
            every: list[Any] = [one, *waiting]
            for each in every:
                of_project.setdefault(each.project_id, []).append(each)
            in_turn = chain.from_iterable(zip_longest(*of_project.values()))
            batch = [each for each in in_turn if each is not None][:MOST]
            self._waiting[one.key] = [each for each in waiting if each not in batch]
        return batch

    def _leave(self, one: Queued) -> bool:
        """Wait no more; return whether it has not been taken yet, to be done or to lead."""
        with self._guard:
            waiting = self._waiting.get(one.key, [])
            if there := one in waiting:
                waiting.remove(one)
        return there

    def _hand_on(self, key: Hashable) -> None:
        """Let the first of those lead who wait, if any do."""
        with self._guard:
            waiting = self._waiting[key]
            if not waiting:
                del self._waiting[key]
                return
            first = waiting.pop(0)
            first.leads = True
        first.turn.release()
