"""The texts of leases that were shown: what has not changed is not read and written again (decision 0135)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from leasehold.db.leases.listed import State

MOST: Final = 16 * 1024 * 1024
"""Bytes of all texts of a process: some eight thousand leases."""
BESIDE: Final = 400
"""Bytes that Python needs for a text beside it, with its key."""
ADMITTED, LONGEST = 8, 40_000
"""Without room for all of a list one of eight takes a place; of a longer list none, as they hold memory it has used."""


class LeaseTexts:
    """Texts by how leases are seen and what they are; those that came first go first. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._size, self._came = most, 0, 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._guard = Lock()

    def seen(self, *by: Hashable) -> SeenTexts:
        """Return those that are seen in one way, such as at a microversion."""
        return SeenTexts(self, by)

    def get(self, key: Hashable) -> bytes | None:
        """Return a text, or None."""
        return self._kept.get(key)

    def keep(self, key: Hashable, text: bytes, many: int = 1) -> None:
        """Keep a text, one of so many of a list, and let others go for it; without room for all, one of eight."""
        with self._guard:
            self._came += 1
            fits = many * (len(text) + BESIDE) < self._most or not self._came % ADMITTED
            if fits and many <= LONGEST and key not in self._kept:
                self._kept[key] = text
                self._size += len(text) + BESIDE
                while self._size > self._most:
                    self._size -= len(self._kept.popitem(last=False)[1]) + BESIDE


@dataclass(frozen=True, slots=True)
class SeenTexts:
    """The texts that are seen in one way."""

    texts: LeaseTexts
    by: Hashable

    def get(self, state: State) -> bytes | None:
        """Return the text of a lease in this state, or None."""
        return self.texts.get((self.by, state))

    def keep(self, state: State, text: bytes, many: int) -> None:
        """Keep it, one of so many of a list."""
        self.texts.keep((self.by, state), text, many)
