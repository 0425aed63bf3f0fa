"""What all projects share and none may have alone: one project has at most half of the places."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Shares:
    """So many places, counted by project; shared by all threads."""

    def __init__(self, most: int) -> None:
        """Start with all places free; `most` is two at least."""
        self._most = most
        self._most_of_one = most // 2
        self._lock = Lock()
        self._by_project: Counter[str] = Counter()

    @contextmanager
    def permit(self, project_id: str) -> Iterator[bool]:
        """Yield whether there was a place for the project, which it has for the length of the block."""
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
        """Return how many places are taken."""
        with self._lock:
            return self._by_project.total()
