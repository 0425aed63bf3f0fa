"""What was seen a moment ago: the calls of a step, or of many steps at once, need not look for it again (0133)."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Seen = TypeVar("Seen")
SECONDS: Final = 30.0
"""How long something is remembered. Whoever uses it looks again when the service does not know it any longer."""


class Remembered(Generic[Seen]):
    """Things by name, such as the numbers of aggregates; threads may share it."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[Seen, float]] = {}

    def get(self, name: str) -> Seen | None:
        """Return what was seen under this name; None if that is too long ago."""
        seen, until = self._seen.get(name, (None, 0.0))
        return seen if self._clock() < until else None

    def see(self, name: str, seen: Seen) -> Seen:
        """Remember and return it."""
        self._seen[name] = seen, self._clock() + SECONDS
        return seen

    def only(self, seen: dict[str, Seen]) -> None:
        """Remember these, and nothing else."""
        until = self._clock() + SECONDS
        self._seen = {name: (each, until) for name, each in seen.items()}

    def forget(self, name: str) -> None:
        """Remember it no longer."""
        self._seen.pop(name, None)
