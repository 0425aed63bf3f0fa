"""The bars of the timeline: of what is booked and what was held, as far as the caller may know it (decision 0095)."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leasehold.calendar.taken import Taken
from leasehold.db.allocation import read_demand
from leasehold.features.timeline.model import Bar, BarKind, ShownLease
from leasehold.model.segment import Cause
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Row

    Amount = tuple[tuple[str, int], ...]


class Piece(NamedTuple):
    """A time in which a lease has a resource, in seconds since the epoch; `end` None: until it is released.

    `kind` LEASE stands for all that the lease has it for, from its lead to its grace.
    """

    number: int
    lease_id: str
    start: int
    end: int | None
    kind: BarKind
    slots: int
    demand: str | None
    substitute: bool


def was_healed(left: datetime | None, cause: str, *, substitute: object) -> bool:
    """Return whether healing gave an allocation; what was left at some time keeps as its cause why it was left."""
    return bool(substitute) or (left is None and cause == Cause.HEALED)


@dataclass(slots=True)
class Pieces:
    """Reads pieces from rows of the database, as of `now`; `until` is when time alone makes them others."""

    now: int
    until: int | None = None
    made: list[Piece] = field(default_factory=list)

    def add_booked(self, rows: Iterable[Row[*tuple[Any, ...]]]) -> None:
        """Add what allocations have beyond their segments, and until they are released (`store.py`)."""
        for number, lease_id, slots, demand, start, end, recorded, left, released, substitute, cause, _ in rows:
            of = (slots, demand, was_healed(left, cause, substitute=substitute))
            begin = start if recorded is None else max(start, recorded)
            gone = end if left is None else min(end, to_seconds(left))
            if begin < gone:
                self.made.append(Piece(number, lease_id, begin, gone, BarKind.LEASE, *of))
            if released is None and end > self.now:
                self.until = end if self.until is None else min(end, self.until)
            if left is not None:
                after, stop = max(start, to_seconds(left)), end if end > self.now else None
                kind = BarKind.VACATED
            elif end <= self.now and start <= self.now:
                after, stop, kind = end, None, BarKind.EMPTYING
            else:
                continue
            if released is not None:
                stop = to_seconds(released)
            if stop is None or after < stop:
                self.made.append(Piece(number, lease_id, after, stop, kind, *of))

    def add_recorded(self, rows: Iterable[Row[*tuple[Any, ...]]]) -> None:
        """Add closed segments."""
        for number, lease_id, slots, demand, start, end, cause, *_ in rows:
            piece = Piece(number, lease_id, start, end, BarKind.LEASE, slots, demand, cause == Cause.HEALED)
            self.made.append(piece)

    def within(self, start: int, end: int) -> Iterator[Piece]:
        """Yield the pieces that meet a window, cut to it; those without an end last until now."""
        for each in self.made:
            last = self.now + 1 if each.end is None else each.end
            if start <= each.start and each.end is not None and each.end <= end:
                yield each
            elif each.start < end and last > start:
                yield each._replace(start=max(each.start, start), end=None if each.end is None else min(each.end, end))


@dataclass(slots=True)
class Drawing:
    """Makes bars of pieces: `shown` are the leases that the caller may see, `maintenances` those of the operators.

    `rows` are the positions of the resources by number; on those of `own` the caller sees nothing but its own.
    """

    shown: Mapping[str, ShownLease]
    maintenances: Collection[str]
    rows: Mapping[int, int]
    own: Collection[int]
    leases: list[ShownLease] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    _amounts: dict[tuple[int, str | None], Amount | None] = field(default_factory=dict)

    def draw(self, pieces: Iterable[Piece], now: int, gaps: Sequence[int]) -> None:
        """Make the bars; what others have of a row is merged, also over `gaps` in which nobody could have it."""
        others: list[tuple[Piece, int]] = []
        closed: list[tuple[Piece, int]] = []
        for piece in pieces:
            row = self.rows.get(piece.number)
            if row is None:
                continue
            if piece.lease_id in self.shown:
                self._show(piece, row)
            elif piece.number not in self.own:
                (closed if piece.lease_id in self.maintenances else others).append((piece, row))
        self._merge(others, now, gaps, BarKind.TAKEN)
        self._merge(closed, now, gaps, BarKind.MAINTENANCE)
        self.bars.sort(key=itemgetter(0, 1, 3))

    def _show(self, piece: Piece, row: int) -> None:
        lease, place = self.shown[piece.lease_id], self.place_of(piece.lease_id)
        rest = (place, self._amount(piece), piece.substitute)
        if piece.kind is not BarKind.LEASE or piece.end is None:
            self.bars.append(Bar(row, piece.start, piece.end, piece.kind, *rest))
            return
        for start, end, kind in self._parts(piece.start, piece.end, lease):
            self.bars.append(Bar(row, start, end, kind, *rest))

    def place_of(self, lease_id: str) -> int:
        """Return the position of a shown lease, which becomes the last one if it has none yet."""
        place = self._places.get(lease_id)
        if place is None:
            place = self._places[lease_id] = len(self.leases)
            self.leases.append(self.shown[lease_id])
        return place

    def _parts(self, start: int, end: int, lease: ShownLease) -> Iterator[tuple[int, int, BarKind]]:
        """Yield the lead, the lease itself and the grace, as far as there are any."""
        if lease.id in self.maintenances:
            kind = BarKind.MAINTENANCE
        else:
            kind = BarKind.OFFER if lease.status == LeaseStatus.OFFERED else BarKind.LEASE
        begin, finish = start if lease.start is None else lease.start, end if lease.end is None else lease.end
        if begin <= start and end <= finish:
            yield start, end, kind
            return
        if start < begin:
            yield start, min(end, begin), BarKind.LEAD
        if max(start, begin) < min(end, finish):
            yield max(start, begin), min(end, finish), kind
        if max(start, finish) < end:
            yield max(start, finish), end, BarKind.GRACE

    def _amount(self, piece: Piece) -> Amount | None:
        key = (piece.slots, piece.demand)
        if key not in self._amounts:
            one = read_demand(piece.demand)
            self._amounts[key] = None if one is None else tuple(sorted((n, a * piece.slots) for n, a in one.items()))
        return self._amounts[key]

    def _merge(self, pieces: Sequence[tuple[Piece, int]], now: int, gaps: Sequence[int], kind: BarKind) -> None:
        if not pieces:
            return
        amounts = [self._amount(piece) for piece, _ in pieces]
        classes = sorted({name for each in amounts for name, _ in each or ()})
        columns = {name: np.array([dict(each or ()).get(name, 0) for each in amounts], np.int64) for name in classes}
        taken = Taken(
            np.array([row for _, row in pieces], np.int64),
            np.array([piece.start for piece, _ in pieces], np.int64),
            # Nobody knows when these end; they have not yet.
            np.array([now + 1 if piece.end is None else piece.end for piece, _ in pieces], np.int64),
            np.array([each is None for each in amounts], np.bool_),
            columns,
        )
        late = {row for piece, row in pieces if piece.end is None}
        for row, start, end, amount in taken.merged(np.array(gaps, np.int64)):
            until = None if end == now + 1 and row in late else end
            self.bars.append(Bar(row, start, until, kind, None, amount))
