"""The calendar: the allocations of one pool over time (design §4). An in-memory cache of the database, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.arrays import MOST_SLOTS
from leasehold.calendar.demands import EXCLUSIVE, DecisionDemands, DemandTable
from leasehold.calendar.eligible import Eligible
from leasehold.calendar.outlines import MOST_CELLS, Outlines
from leasehold.calendar.properties import Answers
from leasehold.calendar.resources import ResourceTable
from leasehold.calendar.snapshot import NOTHING_ADDED, Snapshot
from leasehold.calendar.store import AllocationStore, owner_keys
from leasehold.calendar.weighing import FIRST_FIT
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.calendar.properties import PropertyTable
    from leasehold.calendar.weighing import Weighers
    from leasehold.model.resource import Resource

MOST_TAIL: Final = 16_384
"""How many new allocations are kept beside the sorted ones: enough that sorting is rare, few enough to search fast."""
LEAST_DEMANDS: Final = 1024
"""How many distinct demands are kept before the unused ones are dropped."""
HISTORY: Final = timedelta(days=1)
"""How far back windows are answered exactly: released allocations that ended earlier may have been dropped.

It must exceed the cleaning margin, which looks back from a start.
"""


@dataclass(frozen=True, slots=True)
class AllocationColumns:
    """One chunk of allocation rows as read from the database: sequences of equal length.

    `starts` and `ends` are seconds since the epoch, half-open; a row that ends no later than it starts was cancelled
    and takes nothing. `demands` are JSON texts of {resource class: amount of one slot}, None for the whole resource.
    `reservation_ids` are any texts; nearly all are UUIDs.
    """

    ids: Sequence[int]
    resource_numbers: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]
    slots: Sequence[int]
    demands: Sequence[str | None]
    reservation_ids: Sequence[str]
    released: Sequence[bool]


class Calendar:
    """An index of one pool's allocations, brought up to date by generation.

    Not thread-safe: its owner holds a lock from `update` until the snapshot is no longer used.
    """

    def __init__(self, pool: str, *, most_tail: int = MOST_TAIL, most_cells: int = MOST_CELLS) -> None:
        """Start empty, at a generation before the first."""
        self.pool = pool
        self.generation = -1
        self._resources = ResourceTable()
        self._demands = DemandTable()
        self._store = AllocationStore(most_tail)
        self._outlines = Outlines(self._resources, self._demands, self._store, most_cells)
        self._tidy_at: datetime | None = None
        self._most_demands = LEAST_DEMANDS

    def update(self, generation: int, resources: Sequence[Resource], allocations: AllocationColumns) -> None:
        """Insert or replace resources by number and allocations by id; the calendar is then at `generation`.

        How the rows are split into calls does not change the answers; of two rows with one id the later one counts.
        """
        numbers = np.array(allocations.resource_numbers, np.int64)
        moved = self._resources.make_room(np.concatenate([numbers, np.array([r.number for r in resources], np.int64)]))
        if moved is not None:
            self._store.move_rows(moved)
        self._resources.put(resources)
        if numbers.size:
            demands = self._demands.codes(allocations.demands)
            owners = owner_keys(allocations.reservation_ids)
            self._store.append(
                ids=np.array(allocations.ids, np.int64),
                rows=self._resources.rows(numbers),
                starts=np.array(allocations.starts, np.int64),
                ends=np.array(allocations.ends, np.int64),
                # An exclusive allocation takes its resource once, however many slots its row has.
                slots=np.where(demands == EXCLUSIVE, 1, np.clip(np.array(allocations.slots, np.int64), 0, MOST_SLOTS)),
                demands=demands,
                owners=owners[:, 0],
                owners_rest=owners[:, 1],
                released=np.array(allocations.released, np.bool_),
            )
            self._forget_demands()
        self.generation = generation

    @property
    def properties(self) -> PropertyTable:
        """The present properties of the resources, in an immutable table that needs no lock."""
        return self._resources.properties

    def snapshot(self, now: datetime, answers: Answers | None = None, weighers: Weighers = FIRST_FIT) -> Snapshot:
        """Return the pool's state for the moment `now`; valid until the next update.

        The snapshot uses `answers` that were given for the present properties, and ignores any others. The `weighers`
        order what would do.
        """
        self._store.flush()
        if self._tidy_at is None or now >= self._tidy_at:
            self._store.forget_before(to_seconds(now - HISTORY), unless_few=True)
            self._tidy_at = now + HISTORY / 24
        demands = DecisionDemands(self._demands)
        if answers is None or answers.table is not self.properties:
            answers = Answers(self.properties)
        eligible = Eligible(self._resources, answers, restricted=bool(self._resources.projects))
        seconds = to_seconds(now)
        unready = self._resources.unready().held(seconds) if self._resources.readiness else NOTHING_ADDED
        return Snapshot(demands, self._store, self._outlines, seconds, eligible, weighers=weighers, added=unready)

    def _forget_demands(self) -> None:
        """Drop the demands that no allocation has any more, each time that their number has doubled."""
        if len(self._demands) > self._most_demands:
            self._store.recode(self._demands.keep(self._store.used_demands()))
            self._most_demands = max(LEAST_DEMANDS, 2 * len(self._demands))
