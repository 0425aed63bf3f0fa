"""What a lease would get in a window in which it fits, and what features say about that (decision 0159)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from leasehold.model.windows import EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.model.allocation import Pick
    from leasehold.model.estimate import Estimate
    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Part:
    """What one reservation would get of its pool."""

    reservation_id: str
    resource_type: str
    pool: Snapshot
    picks: Sequence[Pick]


@dataclass(frozen=True, slots=True)
class Fit:
    """So much each reservation would get in a window, if that were decided now; nothing is promised.

    `lease` is the one that would get it, as it is now; None in a search. If it is changed, `connection` is the
    transaction in which that is decided; None: it is new.
    """

    window: Window
    parts: Sequence[Part]
    now: datetime
    lease: Lease | None = None
    connection: Connection | None = None


Estimator: TypeAlias = "Callable[[Fit], Estimate | None]"
"""Says something about what a lease would get; None: nothing."""


@dataclass(frozen=True, slots=True)
class Estimating:
    """Asks features about what a lease would get of these pools; `lease`, `connection` and `now` are as in `Fit`.

    `ids` are those of its reservations; without them, they are called by their positions.
    """

    estimators: Sequence[Estimator] = ()
    pools: Mapping[str, Snapshot] = field(default_factory=dict)
    now: datetime = EPOCH
    ids: Sequence[str] = ()
    lease: Lease | None = None
    connection: Connection | None = None

    def __call__(self, window: Window, asked: Sequence[Asked], picks: Sequence[Sequence[Pick]]) -> list[Estimate]:
        """Return what they say about these picks."""
        if not self.estimators:
            return []
        names = self.ids or [str(position) for position, _ in enumerate(asked)]
        parts = [
            Part(name, part.kind.name, self.pools[part.kind.pool], taken)
            for name, part, taken in zip(names, asked, picks, strict=True)
        ]
        fit = Fit(window, parts, self.now, self.lease, self.connection)
        return [found for each in self.estimators if (found := each(fit)) is not None]


NOBODY_ASKED: Final = Estimating()
