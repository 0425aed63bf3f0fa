"""A brute-force reference for the calendar: loops over lists, second by second."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.calendar.index import AllocationColumns
from leasehold.calendar.search import SlotSpread
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from leasehold.model.resource import Readiness, Resource

MOST_SLOTS = 2**31 - 1
Times = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """One row of the table `allocations`."""

    id: int
    number: int
    start: int
    end: int
    slots: int
    demand: Mapping[str, int] | None
    reservation: str
    released: bool


def columns(rows: Sequence[Row]) -> AllocationColumns:
    """Return the rows as a chunk for `Calendar.update`."""
    return AllocationColumns(
        ids=[row.id for row in rows],
        resource_numbers=[row.number for row in rows],
        starts=[row.start for row in rows],
        ends=[row.end for row in rows],
        slots=[row.slots for row in rows],
        demands=[None if row.demand is None else json.dumps(row.demand, sort_keys=True) for row in rows],
        reservation_ids=[row.reservation for row in rows],
        released=[row.released for row in rows],
    )


def latest(rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each id, for rows that arrive in this order; later rows replace earlier ones."""
    return list({row.id: row for row in rows}.values())


class Oracle:
    """A pool's resources and allocations as plain lists."""

    def __init__(self, resources: Iterable[Resource], rows: Iterable[Row], now: int) -> None:
        self.resources = sorted(resources, key=lambda resource: resource.number)
        self.now = now
        self.held = [self._until_released(row) for row in rows if row.end > row.start]
        self.held += [self._until_ready(each, each.readiness) for each in self.resources if each.readiness is not None]

    def _until_ready(self, unready: Resource, readiness: Readiness) -> Row:
        ready = 0 if unready.deleted_at else math.ceil(readiness.ready_at(from_seconds(self.now)).timestamp())
        return Row(0, unready.number, -1000, ready, 1, None, "", released=False)

    def _until_released(self, row: Row) -> Row:
        late = row.end <= self.now and not row.released
        return replace(row, end=self.now + 1) if late else row

    def without(self, reservations: Collection[str]) -> Oracle:
        other = Oracle(self.resources, (), self.now)
        other.held = [row for row in self.held if row.reservation not in reservations]
        return other

    def booked(self, rows: Iterable[Row]) -> Oracle:
        other = Oracle(self.resources, (), self.now)
        other.held = self.held + [row for row in rows if row.end > row.start]
        return other

    def touching(self, resource: Resource, times: Times) -> list[Row]:
        start, end = times[0], max(times[1], times[0] + 1)
        return [row for row in self.held if row.number == resource.number and row.start < end and row.end > start]

    def free(self, times: Times) -> list[bool]:
        return [not self.touching(resource, times) for resource in self.resources]

    def carrying(self, times: Times) -> list[bool]:
        return [any(row.demand is not None for row in self.touching(r, times)) for r in self.resources]

    def slots(self, times: Times, demand: Mapping[str, int]) -> list[int]:
        start, end = times[0], max(times[1], times[0] + 1)
        return [
            min(self._slots_at(resource, moment, demand) for moment in range(start, end)) for resource in self.resources
        ]

    def _slots_at(self, resource: Resource, moment: int, demand: Mapping[str, int]) -> int:
        here = self.touching(resource, (moment, moment + 1))
        if any(row.demand is None for row in here):
            return 0
        counts = [MOST_SLOTS]
        for name, amount in demand.items():
            if not amount:
                continue
            if name not in resource.capacity or amount > resource.max_unit.get(name, amount):
                return 0
            used = sum(row.slots * row.demand.get(name, 0) for row in here if row.demand is not None)
            counts.append(max(0, (resource.capacity[name] - used) // amount))
        return min(counts)

    def earliest_free(self, candidates: Sequence[bool], amount: int, shape: Shape) -> int | None:
        def fits(times: Times) -> bool:
            return sum(f and c for f, c in zip(self.free(times), candidates, strict=True)) >= amount

        return self._earliest(shape, fits)

    def earliest_slots(
        self, candidates: Sequence[bool], demand: Mapping[str, int], amount: int, spread: SlotSpread, shape: Shape
    ) -> int | None:
        def fits(times: Times) -> bool:
            counts = [n for n, c in zip(self.slots(times, demand), candidates, strict=True) if c]
            match spread:
                case SlotSpread.ANY:
                    return sum(counts) >= amount
                case SlotSpread.ONE_HOST:
                    return max(counts, default=0) >= amount
                case SlotSpread.DISTINCT_HOSTS:
                    return sum(count >= 1 for count in counts) >= amount

        return self._earliest(shape, fits)

    def _earliest(self, shape: Shape, fits: Callable[[Times], bool]) -> int | None:
        """Try every start until all allocations have ended; after that no later start can fit."""
        start = -(-shape.after // shape.grain) * shape.grain
        last = max([row.end for row in self.held], default=0) + shape.margin + shape.grain
        while start <= max(last, shape.after + shape.grain):
            if fits((start - shape.margin, start + shape.duration + shape.margin)):
                return start
            start += shape.grain
        return None


@dataclass(frozen=True)
class Shape:
    """The window to search for, in seconds."""

    after: int
    duration: int
    margin: int
    grain: int
