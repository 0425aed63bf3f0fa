"""The notice that the holder of a lease gets before what is lent to it is taken back (decision 0147)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.model.windows import rounded_up

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Notice:
    """How long ahead the holder is told, in whole seconds, and `since` when it is; None: nothing is taken back."""

    length: timedelta
    since: datetime | None = None

    def given(self, now: datetime) -> Notice:
        """Return the notice that runs from now on, not shorter than promised; one that runs already goes on."""
        return self if self.since is not None else replace(self, since=rounded_up(now))


def notice_of(seconds: int | None) -> Notice | None:
    """Return the notice of so many seconds; None for 0 and for None, by which what is taken back goes at once."""
    return Notice(timedelta(seconds=seconds)) if seconds else None


def seconds_of(notice: Notice | None) -> int:
    """Return how many seconds a notice lasts, 0 without one."""
    return 0 if notice is None else int(notice.length.total_seconds())
