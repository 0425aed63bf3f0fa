"""Counts the live objects of a class, to check that large reads keep few objects in memory."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import event

from leasehold.db.engine import reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine


@contextmanager
def counting(kind: type) -> Iterator[Callable[[], int]]:
    """Yield a function that counts the live objects of exactly this class that were created inside the block."""
    gc.collect()
    # Exclude the objects that exist already; this also makes counting fast.
    gc.freeze()
    try:
        yield lambda: sum(type(each) is kind for each in gc.get_objects())
    finally:
        gc.unfreeze()


@contextmanager
def counting_at_statements(engine: Engine, kind: type) -> Iterator[list[int]]:
    """Yield a list to which each statement of a read-only transaction appends the number of such objects."""
    counts: list[int] = []
    reader = reader_of(engine)
    with counting(kind) as count:

        def note(*_context: object) -> None:
            counts.append(count())

        event.listen(reader, "before_cursor_execute", note)
        try:
            yield counts
        finally:
            event.remove(reader, "before_cursor_execute", note)
