"""What searches know of a pool, kept up to date with its allocations and computed when a search first asks for it.

That is an outline for each class, and when whole resources are idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.arrays import FOR_EVER
from leasehold.calendar.idle import IdlePeriods
from leasehold.calendar.outline import Grid, Outline, drawn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from leasehold.calendar.arrays import Mask, Rows
    from leasehold.calendar.demands import DemandTable
    from leasehold.calendar.resources import ResourceTable
    from leasehold.calendar.store import AllocationStore
    from leasehold.calendar.sweep import Held, Limit

MOST_CELLS: Final = 1_000_000
"""The most cells (stretches x resources) of one outline, at four bytes each: ten thousand hosts by 100 stretches."""
MOST_OUTLINES: Final = 16
"""How many classes have an outline at most, because flavors may ask for any number of them over time."""
MOST_STRETCHES: Final = 512
_ROWS_AT_ONCE: Final = 1024
"""Of how many resources the idle periods are computed at a time, which bounds the memory."""
_FAR_SHARE: Final = 100
"""One allocation in this many may end after the last stretch: one lease of twenty years must not make all long."""


class Outlines:
    """One outline per class, all on one grid that begins now and ends when nearly all allocations have ended."""

    def __init__(self, resources: ResourceTable, demands: DemandTable, store: AllocationStore, most_cells: int) -> None:
        """Read these tables, and keep at most `most_cells` cells for each outline."""
        self._resources = resources
        self._demands = demands
        self._store = store
        self._most_cells = most_cells
        self._drawn: dict[str, Outline] = {}
        self._idle: IdlePeriods | None = None
        self._grid = Grid(0, 1, 0)
        self._size = 0, 0

    def look(self, limits: Iterable[Limit], now: int) -> tuple[Grid, Mapping[str, Outline]]:
        """Return the grid and the outlines, brought up to date, of the classes of these limits; `now` is in seconds."""
        self._catch_up(now)
        asked = {limit.name: limit.capacity for limit in limits}
        self._forget(asked)
        missing = {name: capacity for name, capacity in asked.items() if name not in self._drawn}
        if missing:
            for name, capacity in missing.items():
                # A limit's capacity is 0 where a resource is too small for one slot, but other requests ask for less.
                whole = np.maximum(capacity, self._resources.room_for(name, 0))
                self._drawn[name] = Outline.empty(self._grid.count, whole)
            self._draw(np.arange(len(self._resources)), missing)
        return self._grid, self._drawn

    def idle(self, now: int) -> IdlePeriods:
        """Return when the resources are idle, as far as the store remembers, brought up to date."""
        self._catch_up(now)
        if self._idle is None:
            self._idle = self._idle_of(np.arange(len(self._resources)))
        return self._idle

    def _catch_up(self, now: int) -> None:
        changed = self._store.take_changed()
        if changed is None or not self._fits(now):
            self._begin_anew(now)
        elif changed.size:
            if self._drawn:
                self._draw(changed, self._drawn)
            if self._idle is not None:
                self._idle = self._idle.but(self._mask(changed), self._idle_of(changed))

    def _forget(self, asked: Collection[str]) -> None:
        """Drop the outlines asked for least recently, as far as those asked for now would make too many."""
        others = [name for name in self._drawn if name not in asked]
        for name in others[: max(0, len(others) + len(asked) - MOST_OUTLINES)]:
            del self._drawn[name]
        for name in asked:
            if name in self._drawn:
                self._drawn[name] = self._drawn.pop(name)

    def _fits(self, now: int) -> bool:
        """Say whether the grid still fits: the same resources, little time passed, and about as many allocations."""
        resources, promises = self._size
        start, end = self._grid.window
        lately = start <= now <= start + max(1, (end - start) // 4)
        same = resources == len(self._resources) and promises // 2 <= self._store.end <= 2 * promises + 1024
        return lately and same

    def _begin_anew(self, now: int) -> None:
        self._drawn, self._idle = {}, None
        self._size = len(self._resources), self._store.end
        count = max(1, min(MOST_STRETCHES, self._most_cells // max(1, len(self._resources))))
        ends = self._store.ends[: self._store.flushed]
        ends = ends[ends > now]
        far = ends.size // _FAR_SHARE + 1
        last = int(np.partition(ends, -far)[-far]) if ends.size else now
        self._grid = Grid(now, max(1, -(-(last - now) // count)), count)

    def _draw(self, rows: Rows, names: Collection[str]) -> None:
        """Compute these rows of the outlines of these classes again."""
        outlines, amounts = [self._drawn[name] for name in names], [self._demands.amounts(name) for name in names]
        for outline in outlines:
            outline.wipe(rows)
        for found, extremes in drawn(self._held(self._mask(rows), self._grid.window), self._grid, amounts):
            for outline, (floors, peaks) in zip(outlines, extremes, strict=True):
                outline.draw(found, floors, peaks)

    def _idle_of(self, rows: Rows) -> IdlePeriods:
        # A margin may begin before now.
        window = -FOR_EVER, FOR_EVER
        parts = (self._mask(part) for part in np.array_split(rows, rows.size // _ROWS_AT_ONCE + 1))
        # At most one before each allocation, and one after the last of each row.
        most = self._store.end + rows.size
        return IdlePeriods.joined((IdlePeriods.of(part, self._held(part, window), window) for part in parts), most)

    def _mask(self, rows: Rows) -> Mask:
        chosen = np.zeros(len(self._resources), np.bool_)
        chosen[rows] = True
        return chosen

    def _held(self, chosen: Mask, window: tuple[int, int]) -> Held:
        """Return the allocations of these rows in a window, by row and start; they end with their window."""
        store = self._store
        positions = store.positions(chosen)
        return store.held(store.in_order(positions[store.touching(*window)[positions]]))
