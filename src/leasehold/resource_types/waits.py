"""How long the end of a reservation may wait for its end actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Waits:
    """From when an end counts its waits, as of `now`: from its beginning, or from when no server lives on any more.

    Where none lives on, and for a deletion, both are the same. Two are equal whenever they were made: the audit looks
    twice at what a lease waits for.
    """

    now: datetime = field(compare=False)
    begun: datetime
    over: datetime

    def until(self, span: timedelta, *, living: bool = False) -> datetime | None:
        """Return when a wait of this length is over, None if it is; `living` counts from the beginning of the end."""
        until = self.end_of(span, living=living)
        return until if until > self.now else None

    def end_of(self, span: timedelta, *, living: bool = False) -> datetime:
        """Return when a wait of this length is over, or was; for an end in the last year there is, the last date."""
        begun = self.begun if living else self.over
        return begun + min(span, _LAST - begun)
