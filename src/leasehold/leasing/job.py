"""A job: what managers do again and again, beside the tasks that are due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from leasehold.leasing.turn import Turn


@dataclass(frozen=True, slots=True)
class Job:
    """Done by each manager every `every` seconds, first after one interval; with a `turn`, by the one that takes it.

    `run` gets the event that the manager stops. What it raises is logged, and the next run tries again.
    """

    name: str
    every: float
    run: Callable[[Event], object]
    turn: Turn | None = None
