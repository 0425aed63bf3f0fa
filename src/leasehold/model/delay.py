"""What it costs a request that resources are not ready on which nothing is promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Delay:
    """A lease would fit when it was asked for if these `resources`, by number, were ready; it would have them then.

    It fits `later` by so much, and `ready_in` such a time from now; None if that is not known.
    """

    resources: frozenset[int]
    later: timedelta | None = None
    ready_in: timedelta | None = None


class Listener(Protocol):
    """What hears of a delay, after the request is decided and outside of any transaction."""

    def note(self, now: datetime, delay: Delay) -> None:
        """Take note of it, and write nothing yet: the client waits."""
