"""Stays: resources that projects have without a promise, as features have recorded it for others (decision 0160)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Stay:
    """Somebody has a resource from `start` to before `end`, in seconds since the epoch, which was granted at a moment.

    `id` names the stay, and `of` what it belongs to, such as a filler.
    """

    id: str
    of: str
    project_id: str
    user_id: str
    resource_type: str
    resource_number: int
    granted_at: datetime
    start: int
    end: int


Stays: TypeAlias = "Callable[[Connection, int, int], Iterable[Stay]]"
"""Returns the stays of a window that is over, in seconds, cut to it: they never change any more."""
