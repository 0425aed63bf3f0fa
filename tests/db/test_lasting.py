"""The rows of a window are found by how long they last, on each database, exactly."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from sqlalchemy import insert, literal_column, select, union_all

from leasehold.db.columns.ending import FOR_GOOD
from leasehold.db.columns.holding import LENGTHS
from leasehold.db.columns.lasting import meeting
from leasehold.db.engine import reading, writing
from leasehold.db.tables import segments
from leasehold.model.resource import HOST
from tests.db.examples import NOW

if TYPE_CHECKING:
    from sqlalchemy import Engine

SEED = 20_261_129
TOLD = {
    **dict.fromkeys(("lease_id", "reservation_id", "project_id", "user_id", "resource"), "x"),
    "resource_type": HOST,
    "resource_number": 1,
    "slots": 1,
    "written_at": NOW,
}


def test_what_meets_a_window_is_found_whatever_its_length(engine: Engine) -> None:
    dice = Random(SEED)  # noqa: S311 - it places rows, and no secrets
    edges = [length + more for length in LENGTHS[:-1] for more in (-1, 0, 1)]
    spans = [(100_000, 100_000 + each) for each in (*edges, 0, -1)]
    spans += [(start, start + dice.choice(edges)) for start in dice.sample(range(10**7), 200)]
    spans += [(0, FOR_GOOD), (99_999, FOR_GOOD), (FOR_GOOD - 1, FOR_GOOD)]
    with writing(engine) as connection:
        connection.execute(insert(segments), [{**TOLD, "starts_at": start, "ends_at": end} for start, end in spans])
    borders = sorted({moment + more for span in spans for moment in span for more in (-1, 0, 1)})
    with reading(engine) as connection:
        for number in range(200):
            start, end = sorted(dice.choices(borders, k=2)) if number % 2 else (dice.choice(borders),) * 2
            end = max(end, start + 1)
            parts = meeting(select(segments.c.starts_at, segments.c.ends_at), segments, start, end)
            found = connection.execute(union_all(*parts).order_by(literal_column("1"), literal_column("2"))).all()
            wanted = sorted((low, high) for low, high in spans if low < end and high > start and high > low)
            assert [tuple(row) for row in found] == wanted, (SEED, start, end)
