"""Clients that ask at random until all answers that a test wants were given."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tests.harness.visitor import Asked, Visitor

    Way = Callable[[Visitor, random.Random], Asked]

AT_MOST = 60.0


class Crowd(ABC):
    """What each client does, for so many `seconds` at least; `seen` counts the answers, by kind and status."""

    seed: ClassVar[int]
    seconds: ClassVar[float]
    wanted: ClassVar[Collection[tuple[str, int]]]

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.seen: Counter[tuple[str, int]] = Counter()

    def __call__(self, visitor: Visitor) -> list[Asked]:
        rng = random.Random(self.seed + visitor.number)  # noqa: S311 - not for cryptography
        made = []
        while self._goes_on():
            answer = rng.choice(self.ways())(visitor, rng)
            made.append(answer)
            self.seen[answer.kind, answer.status] += 1
        return made

    @abstractmethod
    def ways(self) -> Sequence[Way]:
        """Return what a client does next, one of these."""

    def _goes_on(self) -> bool:
        """Go on until all that is wanted was answered, which takes longer on a busy machine."""
        took = time.monotonic() - self.begun
        return took < self.seconds or (took < AT_MOST and not all(self.seen[each] for each in self.wanted))
