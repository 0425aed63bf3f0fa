"""The tag of a timeline, which says whether an answer would be another one by now (decision 0107)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from datetime import datetime

OVERLAP: Final = timedelta(hours=1)
"""How long before the answer changes may be dated that it does not have yet.

A change is dated before its commit, and by the clock of its process.
"""
LONGEST: Final = timedelta(days=1)
"""How old an answer may become that is said to be unchanged: the older, the more leases have changed since."""
_FORM: Final = re.compile(r"([0-9a-f]{32})\.([0-9]{1,12}|-)\.([0-9]{1,10})")


@dataclass(frozen=True, slots=True)
class Tag:
    """What an answer was made of: `digest` also has the leases that have changed since `since`.

    `until` is when time alone makes it another one, in seconds since the epoch; None: never.
    """

    digest: str
    until: int | None
    since: datetime

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the tag that a client sends; None if it is not one of ours."""
        found = _FORM.fullmatch(text)
        if found is None:
            return None
        digest, until, since = found.groups()
        return cls(digest, None if until == "-" else int(until), from_seconds(int(since)))

    def __str__(self) -> str:
        """Return it as clients see it."""
        return f"{self.digest}.{'-' if self.until is None else self.until}.{to_seconds(self.since)}"

    def may_hold(self, now: datetime) -> bool:
        """Say whether the answer is the same still, if what it was made of is."""
        young = self.since <= now <= self.since + OVERLAP + LONGEST
        return young and (self.until is None or to_seconds(now) < self.until)


def since_of(now: datetime) -> datetime:
    """Return since when the changes of leases count in the tag of an answer that is made now."""
    return from_seconds(to_seconds(now - OVERLAP))
