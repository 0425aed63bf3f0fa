"""Records of use: what became of promises, as features have recorded it for others that count with it (0157)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection


class Became(StrEnum):
    """What became of a part of a promise."""

    LATE = "late"
    """Its start was not done yet."""
    MISSING = "missing"
    """The reservation had fewer resources than it was promised."""
    USED = "used"
    """Something of its owner ran there."""


@dataclass(frozen=True, slots=True)
class Span:
    """That became of so much of a reservation, from `start` to before `end`, in seconds since the epoch."""

    reservation_id: str
    became: Became
    amount: int
    start: int
    end: int


class Record(Protocol):
    """What a feature has recorded. Spans of a reservation may overlap; those that are used add up."""

    def settled(self, connection: Connection, now: int) -> int:
        """Return the moment before which nothing changes any more of what `spans` returns, in seconds."""
        ...

    def spans(self, connection: Connection, lease_ids: Collection[str], start: int, end: int) -> Iterable[Span]:
        """Return what became of the reservations of these leases, cut to a window."""
        ...
