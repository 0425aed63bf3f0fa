"""A clock that tests advance."""

from __future__ import annotations


class Ticks:
    """A clock in seconds that stands still until the test adds to `now`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
