"""The time limit of a decision; other requests for the same resources wait meanwhile."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from leasehold.model.errors import TakesTooLongError

if TYPE_CHECKING:
    from collections.abc import Callable


def nothing_to_check() -> None:
    """Do nothing: the check of work without a time limit."""


class Budget:
    """A time limit that begins to run when it is made. Work that may take long calls `check` between its steps."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        """`clock` returns the seconds of a monotonic clock."""
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
        """Return a budget of at most `seconds` that begins now, and ends no later than this one."""
        left = max(0.0, self._until - self._clock())
        return Budget(min(seconds, left), self._clock)
