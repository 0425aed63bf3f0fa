"""The resources that are not ready, as allocations of all of each until it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.demands import EXCLUSIVE
from leasehold.calendar.sweep import Held
from leasehold.model.windows import EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.calendar.arrays import Rows, Seconds
    from leasehold.model.resource import Readiness

_NOT_BEGUN = np.iinfo(np.int64).min
_SECOND = timedelta(seconds=1)
EVER: Final = -3600
"""When the allocations of what is there, and not ready, begin: before the epoch, where no other one does."""
_ABSENT: Final = EVER - 1
"""When those of what is not there yet begin: it is ready from a date on, and waking it would not help."""


@dataclass(frozen=True, slots=True, eq=False)
class Unready:
    """Their `rows`, how many seconds each `takes`, and when that has `begun`; each of shape (n,)."""

    rows: Rows
    takes: Seconds
    begun: Seconds

    @classmethod
    def of(cls, rows: Rows, readiness: Sequence[Readiness]) -> Unready:
        """Return these rows, each with how soon it is ready."""
        takes = [int(each.takes.total_seconds()) for each in readiness]
        begun = [_NOT_BEGUN if each.begun is None else -((EPOCH - each.begun) // _SECOND) for each in readiness]
        return cls(rows, np.array(takes, np.int64), np.array(begun, np.int64))

    def held(self, now: int) -> Held:
        """Return what takes all of each of them at a moment, in seconds since the epoch, until it is ready."""
        size = self.rows.size
        ready = np.where(self.begun == _NOT_BEGUN, now, self.begun) + self.takes
        return Held(
            self.rows,
            np.where(self.begun > now, _ABSENT, EVER),
            np.maximum(ready, now + 1),
            np.ones(size, np.int64),
            np.full(size, EXCLUSIVE, np.int32),
        )
