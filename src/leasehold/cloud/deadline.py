"""A deadline that several calls to the cloud share, such as all calls of one request."""

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
    """The end of the allowed time, on a monotonic clock."""

    end: float
    clock: Callable[[], float]


_PRESENT: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Limit this thread's calls to the cloud in the block to `seconds` in total; `clock` is monotonic."""
    token = _PRESENT.set(_Deadline(clock() + seconds, clock))
    try:
        yield
    finally:
        _PRESENT.reset(token)


def time_left() -> float | None:
    """Return how many seconds this thread's next call may take: 0 after the deadline, None without a deadline."""
    present = _PRESENT.get()
    return None if present is None else max(0.0, present.end - present.clock())
