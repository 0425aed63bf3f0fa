"""Small pools: few resources, seconds and amounts, so that allocations often overlap, touch and exceed capacity."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.calendar.search import SlotSpread, Sought, earliest_free, earliest_slots
from leasehold.model.allocation import Pick
from leasehold.model.resource import HOST, HOST_POOL, Readiness, Resource
from leasehold.model.windows import Window, from_seconds, to_seconds
from tests.unit.calendar.oracle import Oracle, Row, Shape, columns, latest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leasehold.calendar.snapshot import Snapshot

DAY = 40
"""Allocations lie between 0 and this, in seconds."""
RESERVATIONS = [str(UUID(int=(n << 64) + n // 2)) for n in range(1, 6)]

demands = st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "PCPU"]), st.integers(0, 4), max_size=3)
spans = st.tuples(st.integers(0, DAY), st.integers(0, DAY)).map(lambda pair: (min(pair), max(pair)))
moments = st.integers(-3, DAY + 3)
readinesses = st.builds(
    Readiness,
    st.integers(0, 20).map(lambda seconds: timedelta(seconds=seconds)),
    st.one_of(st.none(), st.integers(-10, DAY).map(from_seconds)),
)


def resource(number: int, **fields: object) -> Resource:
    """Return a host of the pool."""
    given: dict[str, object] = {
        "id": str(number),
        "type": HOST,
        "pool": HOST_POOL,
        "capacity": {"VCPU": 8, "MEMORY_MB": 8},
        "max_unit": {},
        "attributes": {},
    }
    return Resource(number=number, **{**given, **fields})  # type: ignore[arg-type]


def row(id_: int, start: int, end: int, demand: dict[str, int] | None = None, slots: int = 1, **more: object) -> Row:
    """Return an allocation, by default of resource 1 and not released."""
    fields: dict[str, object] = {"number": 1, "reservation": RESERVATIONS[0], "released": False, **more}
    return Row(id=id_, start=start, end=end, slots=slots, demand=demand, **fields)  # type: ignore[arg-type]


def calendar_of(rows: Sequence[Row] = (), pool: Iterable[Resource] | None = None, **options: int) -> Calendar:
    """Return a calendar with these allocations, by default of the resource 1."""
    calendar = Calendar("hosts", **options)
    calendar.update(0, [resource(1)] if pool is None else tuple(pool), columns(rows))
    return calendar


def snapshot_of(rows: Sequence[Row] = (), pool: Iterable[Resource] | None = None, **options: int) -> Snapshot:
    """Return the snapshot of such a calendar at the moment 0."""
    return calendar_of(rows, pool, **options).snapshot(from_seconds(0))


@st.composite
def pools(draw: st.DrawFn, *, unready: bool = True) -> list[Resource]:
    """Draw one to five resources whose numbers have gaps; some may not be ready."""
    numbers = draw(st.lists(st.integers(1, 50), min_size=1, max_size=5, unique=True))
    amounts = st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "PCPU"]), st.integers(0, 12), max_size=3)
    return [
        resource(
            number,
            capacity=draw(amounts),
            max_unit=draw(amounts),
            admitted=draw(st.booleans()),
            disabled=draw(st.booleans()),
            deleted_at=draw(st.sampled_from([None, None, datetime(2030, 1, 1, tzinfo=UTC)])),
            readiness=draw(st.one_of(st.none(), st.none(), readinesses if unready else st.none())),
        )
        for number in numbers
    ]


@st.composite
def allocations(draw: st.DrawFn, pool: list[Resource], most: int = 14) -> list[Row]:
    """Draw rows in order of arrival: ids repeat and are out of order, and some allocations are cancelled."""
    numbers = st.sampled_from([each.number for each in pool])
    shapes = st.one_of(spans, spans, spans, st.tuples(st.integers(0, DAY), st.integers(0, DAY)))
    rows = []
    for _ in range(draw(st.integers(0, most))):
        start, end = draw(shapes)
        demand = draw(st.one_of(st.none(), demands, demands))
        # An allocation of a whole resource ignores its number of slots.
        slots = draw(st.integers(1, 3) if demand is not None else st.sampled_from([1, 2, 2**31 - 1]))
        rows.append(
            Row(
                id=draw(st.integers(1, 20)),
                number=draw(numbers),
                start=start,
                end=end,
                slots=slots,
                demand=demand,
                reservation=draw(st.sampled_from(RESERVATIONS)),
                released=draw(st.booleans()),
            )
        )
    return rows


shapes = st.builds(
    Shape,
    after=moments,
    duration=st.integers(0, 12),
    margin=st.sampled_from([0, 0, 1, 3]),
    grain=st.sampled_from([1, 1, 5, 7]),
)


@st.composite
def loaded(draw: st.DrawFn) -> tuple[Snapshot, Oracle]:
    """Draw the snapshot of a calendar, and its oracle. The grids are of one stretch for all time to one per second.

    A search may have come between two updates: what it computed is kept and has to follow the second one.
    """
    pool = draw(pools())
    rows = draw(allocations(pool, most=20))
    now = draw(moments)
    options = {"most_tail": draw(st.sampled_from([0, 1000])), "most_cells": draw(st.sampled_from([0, 15, 40, 1000]))}
    before = draw(st.integers(0, len(rows)))
    calendar = calendar_of(rows[:before], pool, **options)
    if draw(st.booleans()):
        searched = calendar.snapshot(from_seconds(now))
        searched.outlook([searched.whole()])
        searched.idle_periods((now, now + 1), np.ones(len(pool), np.bool_), 1)
    calendar.update(1, (), columns(rows[before:]))
    return calendar.snapshot(from_seconds(now)), Oracle(pool, latest(rows), now)


@st.composite
def amended(draw: st.DrawFn) -> tuple[Snapshot, Oracle]:
    """Draw a snapshot and its oracle as an amendment sees them: without its own allocations, and with its picks.

    One of a batch sees it without what was amended before, so allocations are left out one after the other too.
    """
    snapshot, oracle = draw(loaded())
    own = draw(st.sets(st.sampled_from(RESERVATIONS), max_size=3))
    for some in draw(st.sampled_from([[own], [{each} for each in sorted(own)]])):
        snapshot = snapshot.without(some)
    oracle = oracle.without(own)
    for each in draw(allocations(oracle.resources, most=3)):
        if each.start <= each.end:
            pick = Pick(each.number, each.slots, each.demand)
            snapshot = snapshot.booked([pick], Window.of_seconds(each.start, each.end))
            oracle = oracle.booked([each])
    return snapshot, oracle


def bounds(snapshot: Snapshot, demand: dict[str, int], window: tuple[int, int]) -> list[int]:
    """Return the outlook's upper bounds of slots for one window that begins within its grid."""
    outlook = snapshot.outlook(snapshot.limits(demand))
    counts: list[int] = outlook.at_most(window[0], window[0], window[1] - window[0]).tolist()
    return counts


def first_free(snapshot: Snapshot, candidates: Sequence[bool], amount: int, shape: Shape) -> int | None:
    """Return the start of the first window with so many free candidates, as `Oracle.earliest_free` does."""
    return _start(partial(earliest_free, snapshot, np.array(candidates), amount), shape)


def first_slots(
    snapshot: Snapshot,
    candidates: Sequence[bool],
    demand: dict[str, int],
    amount: int,
    spread: SlotSpread,
    shape: Shape,
) -> int | None:
    """Return the start of the first window with so many slots, as `Oracle.earliest_slots` does."""
    return _start(partial(earliest_slots, snapshot, np.array(candidates), demand, amount, spread), shape)


def _start(search: Callable[..., Window | None], shape: Shape) -> int | None:
    duration, margin = timedelta(seconds=shape.duration), timedelta(seconds=shape.margin)
    window = search(Sought(from_seconds(shape.after), duration, margin, grain=shape.grain))
    assert window is None or window.duration == duration
    return None if window is None else to_seconds(window.start)
