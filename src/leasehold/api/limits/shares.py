"""A limited number of slots that all projects share; one project gets at most half of them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Shares:
    """Counts the slots in use by project; shared by all threads."""

    def __init__(self, most: int) -> None:
        """Start with `most` slots, all free; `most` is at least two."""
        self._most = most
        self._most_of_one = most // 2
        self._lock = Lock()
        self._by_project: Counter[str] = Counter()

    @contextmanager
    def permit(self, project_id: str) -> Iterator[bool]:
        """Yield whether the project got a slot; it has the slot for the length of the block."""
        with self._lock:
            placed = self._by_project.total() < self._most and self._by_project[project_id] < self._most_of_one
            if placed:
                self._by_project[project_id] += 1
        try:
            yield placed
        finally:
            if placed:
                with self._lock:
                    self._by_project -= Counter([project_id])

    def __len__(self) -> int:
        """Return how many slots are in use."""
        with self._lock:
            return self._by_project.total()
