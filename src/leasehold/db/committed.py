"""Whether the work of this thread has committed anything: what fails afterwards has not changed nothing."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Committed:
    """Says whether a transaction was committed since this was made."""

    anything: bool = False


_PRESENT: ContextVar[Committed | None] = ContextVar("committed", default=None)


@contextmanager
def noting_commits() -> Iterator[Committed]:
    """Note in the block whether a writing transaction of this thread was committed."""
    token = _PRESENT.set(noted := Committed())
    try:
        yield noted
    finally:
        _PRESENT.reset(token)


def note_commit() -> None:
    """Note that a transaction was committed."""
    if (present := _PRESENT.get()) is not None:
        present.anything = True
