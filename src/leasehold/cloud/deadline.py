"""A deadline for all the calls to the cloud that somebody waits for together."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class _Deadline:
    """The moment at which it is over, on a steady clock."""

    end: float
    clock: Callable[[], float]


_PRESENT: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Give this thread's calls to the cloud in the block so many seconds, all together; `clock` never goes back."""
    token = _PRESENT.set(_Deadline(clock() + seconds, clock))
    try:
        yield
    finally:
        _PRESENT.reset(token)


def time_left() -> float | None:
    """Return how many seconds this thread's next call to the cloud may take, 0 for none; None without a deadline."""
    present = _PRESENT.get()
    return None if present is None else max(0.0, present.end - present.clock())
