"""What it costs a request that resources are asleep which nobody uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Delay:
    """A lease would fit when it was asked for if these `resources`, by number, were awake; it would have them then.

    It fits `later` by so much, and `ready_in` such a time from now; None if that is not known.
    """

    resources: frozenset[int]
    later: timedelta | None = None
    ready_in: timedelta | None = None
