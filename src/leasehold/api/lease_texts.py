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


class LeaseTexts:
    """Texts by how leases are seen and what they are; those that came first go first. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._guard = Lock()

    def seen(self, *by: Hashable) -> SeenTexts:
        """Return those that are seen in one way, such as at a microversion."""
        return SeenTexts(self, by)

    def get(self, key: Hashable) -> bytes | None:
        """Return a text, or None."""
        return self._kept.get(key)

    def keep(self, key: Hashable, text: bytes) -> None:
        """Keep a text, and let others go for it."""
        with self._guard:
            if key not in self._kept:
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

    def keep(self, state: State, text: bytes) -> None:
        """Keep it."""
        self.texts.keep((self.by, state), text)
