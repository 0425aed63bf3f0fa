"""How many objects of a class there are at a time: who reads much has to hold little of it."""

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
    """Yield what tells how many objects of exactly this class were made inside the block and are still held."""
    gc.collect()
    # What is there before is left out, which also makes counting quick.
    gc.freeze()
    try:
        yield lambda: sum(type(each) is kind for each in gc.get_objects())
    finally:
        gc.unfreeze()


@contextmanager
def counting_at_statements(engine: Engine, kind: type) -> Iterator[list[int]]:
    """Yield a list that gets the number of such objects at each statement of a transaction that only reads."""
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
