"""How many of a pool's equal resources are taken in which hours: what `linear` needs to know of leases.

Each lease has an amount in one hour. Then there is room for one more if and only if the amounts of its hour leave it:
over several hours, what is free may be spread over resources that nobody has in all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from tests.harness.linear import NEVER, Stuck, explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Answer(Enum):
    """What a client is told, other than a number or a lease."""

    GRANTED = "granted"
    REFUSED = "refused, as there is not enough"
    ABSENT = "there is no such lease"
    NONE = "no answer"


@dataclass(frozen=True, slots=True)
class Held:
    """What a lease has."""

    hour: int
    amount: int


Taken: TypeAlias = frozenset[tuple[str, Held]]
"""The state of a pool: what each lease has, by its name."""


def free(taken: Taken, hour: int, capacity: int) -> int:
    """Return how many are free in an hour."""
    return capacity - sum(held.amount for _, held in taken if held.hour == hour)


def of(taken: Taken, name: str) -> Held | None:
    """Return what a lease has; None: there is none of this name."""
    return next((held for lease, held in taken if lease == name), None)


@dataclass(frozen=True, slots=True)
class Ask(ABC):
    """What is asked for."""

    @abstractmethod
    def answered(self, taken: Taken, capacity: int) -> tuple[object, Taken]:
        """Return the right answer in this state, and the state after it."""

    @property
    @abstractmethod
    def names(self) -> Iterable[str | int]:
        """The leases and hours that it is about."""


@dataclass(frozen=True, slots=True)
class Create(Ask):
    """A new lease."""

    name: str
    wants: Held

    def answered(self, taken: Taken, capacity: int) -> tuple[object, Taken]:
        if self.wants.amount > free(taken, self.wants.hour, capacity):
            return Answer.REFUSED, taken
        return Answer.GRANTED, taken | {(self.name, self.wants)}

    @property
    def names(self) -> Iterable[str | int]:
        return self.name, self.wants.hour


@dataclass(frozen=True, slots=True)
class Amend(Ask):
    """Another hour of a lease, or another amount; None: as it is."""

    name: str
    hour: int | None = None
    amount: int | None = None

    def answered(self, taken: Taken, capacity: int) -> tuple[object, Taken]:
        held = of(taken, self.name)
        if held is None:
            return Answer.ABSENT, taken
        wants = replace(
            held,
            hour=held.hour if self.hour is None else self.hour,
            amount=held.amount if self.amount is None else self.amount,
        )
        rest = taken - {(self.name, held)}
        if wants.amount > free(rest, wants.hour, capacity):
            return Answer.REFUSED, taken
        return Answer.GRANTED, rest | {(self.name, wants)}

    @property
    def names(self) -> Iterable[str | int]:
        return (self.name,) if self.hour is None else (self.name, self.hour)


@dataclass(frozen=True, slots=True)
class Delete(Ask):
    """The end of a lease, if it is there: of two at once both are granted, as `deletion` has it."""

    name: str

    def answered(self, taken: Taken, capacity: int) -> tuple[object, Taken]:
        return Answer.GRANTED, frozenset(each for each in taken if each[0] != self.name)

    @property
    def names(self) -> Iterable[str | int]:
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Find(Ask):
    """Whether there is a lease of this name."""

    name: str

    def answered(self, taken: Taken, capacity: int) -> tuple[object, Taken]:
        return Answer.ABSENT if of(taken, self.name) is None else Answer.GRANTED, taken

    @property
    def names(self) -> Iterable[str | int]:
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Show(Ask):
    """What a lease has."""

    name: str

    def answered(self, taken: Taken, capacity: int) -> tuple[object, Taken]:
        return of(taken, self.name) or Answer.ABSENT, taken

    @property
    def names(self) -> Iterable[str | int]:
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Free(Ask):
    """How many are free in an hour."""

    hour: int

    def answered(self, taken: Taken, capacity: int) -> tuple[object, Taken]:
        return free(taken, self.hour, capacity), taken

    @property
    def names(self) -> Iterable[str | int]:
        return (self.hour,)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: when it was sent, when it was answered, and what it was told."""

    ask: Ask
    answer: object
    start: float
    end: float = NEVER

    def __str__(self) -> str:
        """Return it as a line of text."""
        said = self.answer.value if isinstance(self.answer, Answer) else self.answer
        return f"{self.start:.4f} to {self.end:.4f}: {self.ask} was told: {said}"


def deletion(name: str, answer: object, start: float, end: float = NEVER) -> Iterator[Request]:
    """Yield what a deletion is: it finds the lease, and then ends it if nobody else has done so meanwhile."""
    if answer is not Answer.NONE:
        yield Request(Find(name), answer, start, end)
    if answer is not Answer.ABSENT:
        yield Request(Delete(name), answer, start, end)


def step(capacity: int, taken: Taken, request: Request) -> Taken | None:
    """Return the state after a request; None: it would have got another answer. Without one it may be granted."""
    right, after = request.ask.answered(taken, capacity)
    return after if request.answer in (right, Answer.NONE) else None


def reads(request: Request) -> bool:
    """Say whether a request changes nothing wherever its answer is right; one that is granted may find all done."""
    return not (isinstance(request.ask, Create | Amend | Delete) and request.answer in (Answer.GRANTED, Answer.NONE))


def unexplained(requests: Iterable[Request], capacity: int) -> Stuck[Request] | None:
    """Return where no order explains the answers; None if one does. At first nothing is taken.

    Requests that have no lease and no hour in common cannot contradict each other, and are looked at apart.
    """
    parts = (explain(part, Taken(), partial(step, capacity), reads) for part in apart(requests))
    return next(filter(None, parts), None)


def apart(requests: Iterable[Request]) -> Sequence[Sequence[Request]]:
    """Return the requests in parts that have no lease and no hour in common, directly or by others."""
    above: dict[str | int, str | int] = {}

    def root(name: str | int) -> str | int:
        while (higher := above.setdefault(name, name)) != name:
            name = higher
        return name

    every = list(requests)
    for each in every:
        first, *rest = each.ask.names
        for name in rest:
            above[root(name)] = root(first)
    found: dict[str | int, list[Request]] = defaultdict(list)
    for each in every:
        found[root(next(iter(each.ask.names)))].append(each)
    return list(found.values())
