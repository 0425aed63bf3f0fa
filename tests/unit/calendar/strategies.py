"""Small pools: few resources, seconds and amounts, so that allocations often overlap, touch and exceed capacity."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from hypothesis import strategies as st

from leasehold.model.resource import HOST, HOST_POOL, Resource
from tests.unit.calendar.oracle import Row, Shape

DAY = 40
"""Allocations lie between 0 and this, in seconds."""
RESERVATIONS = [str(UUID(int=(n << 64) + n // 2)) for n in range(1, 6)]

demands = st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "PCPU"]), st.integers(0, 4), max_size=3)
spans = st.tuples(st.integers(0, DAY), st.integers(0, DAY)).map(lambda pair: (min(pair), max(pair)))
moments = st.integers(-3, DAY + 3)


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


@st.composite
def pools(draw: st.DrawFn) -> list[Resource]:
    """Draw one to five resources whose numbers have gaps."""
    numbers = draw(st.lists(st.integers(1, 50), min_size=1, max_size=5, unique=True))
    amounts = st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "PCPU"]), st.integers(0, 12), max_size=3)
    return [
        resource(
            number,
            capacity=draw(amounts),
            max_unit=draw(amounts),
            reservable=draw(st.booleans()),
            deleted_at=draw(st.sampled_from([None, None, datetime(2030, 1, 1, tzinfo=UTC)])),
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
