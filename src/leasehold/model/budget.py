"""How long a decision may take: everybody who wants the same resources waits meanwhile."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from leasehold.model.errors import TakesTooLongError

if TYPE_CHECKING:
    from collections.abc import Callable


def nothing_to_check() -> None:
    """Let work take as long as it takes."""


class Budget:
    """Seconds that begin to run when this is made. Work that may take long calls `check` between its steps."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        """`clock` tells seconds of a clock that never goes back."""
        self._seconds = seconds
        self._clock = clock
        self._until = clock() + seconds

    @property
    def spent(self) -> bool:
        """Say whether the time is over."""
        return self._clock() > self._until

    def check(self) -> None:
        """Raise TakesTooLongError when the time is over."""
        if self.spent:
            raise TakesTooLongError(self._seconds)

    def part(self, seconds: float) -> Budget:
        """Return a budget that begins now, and ends no later than this one."""
        left = max(0.0, self._until - self._clock())
        return Budget(min(seconds, left), self._clock)
