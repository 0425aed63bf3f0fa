"""Notes every change of an allocation with its time, by database triggers, and compares the record with the notes.

It knows nothing of the record: it adds up what the allocations said at each moment, as somebody who watched them would.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import event, text

from leasehold.db.engine import reading, writing
from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy import Engine

Steps = Counter[tuple[Any, ...]]
"""Where the amount rises and falls that a reservation holds of a resource: by both, the demand and the second."""

_TABLE = """
CREATE TABLE holdings (
    number INTEGER PRIMARY KEY, moment INTEGER, id INTEGER, reservation_id TEXT, resource_number INTEGER, slots INTEGER,
    demand TEXT, starts_at INTEGER, ends_at INTEGER, vacated INTEGER
)
"""
_NOTE = """
CREATE TRIGGER note_{verb}_of_holdings AFTER {verb} ON allocations
BEGIN INSERT INTO holdings VALUES (
    NULL, moment_of_the_test(), new.id, new.reservation_id, new.resource_number, new.slots, new.demand, new.starts_at,
    new.ends_at, new.left_at IS NOT NULL
); END
"""


def note_holdings(engine: Engine) -> None:
    """Add triggers to an SQLite database that note each new and each changed allocation."""
    with writing(engine) as connection:
        connection.execute(text(_TABLE))
        for verb in ("insert", "update"):
            connection.execute(text(_NOTE.format(verb=verb)))


def tell_the_time(engine: Engine, now: Callable[[], datetime]) -> None:
    """Give the triggers the time of the test."""

    @event.listens_for(engine, "checkout")
    def tell(connection: Any, _record: Any, _proxy: Any) -> None:
        connection.create_function("moment_of_the_test", 0, lambda: to_seconds(now()))


def misrecorded(engine: Engine, now: datetime) -> list[str]:
    """Return where the record says another thing than the notes: an overlap, a hole, or a wrong amount or owner."""
    noted, recorded = _noted(engine, to_seconds(now)), _recorded(engine, now)
    wrong = [key for key in noted.keys() | recorded.keys() if noted[key] != recorded[key]]
    return [
        f"reservation {part}, resource {number} at {moment}: {noted[key]} noted, {recorded[key]} recorded"
        for key in sorted(wrong, key=str)
        for part, number, _demand, moment in [key]
    ]


def _noted(engine: Engine, now: int) -> Steps:
    with reading(engine) as connection:
        rows = connection.execute(text("SELECT * FROM holdings ORDER BY number")).all()
    states = defaultdict(list)
    for row in rows:
        states[row.id].append(row)
    steps: Steps = Counter()
    for found in states.values():
        until = [following.moment for following in found[1:]] + [now]
        for row, end in zip(found, until, strict=True):
            held = max(row.starts_at, row.moment), min(row.ends_at, end)
            if not row.vacated and held[0] < held[1]:
                _add(steps, row, json.loads(row.demand or "null"), held)
    return steps


def _recorded(engine: Engine, now: datetime) -> Steps:
    steps: Steps = Counter()
    with reading(engine) as connection:
        for each in each_segment(connection, SegmentFilter(), now):
            _add(steps, each, each.demand, each.window.seconds)
    return steps


def _add(steps: Steps, of: Any, demand: Mapping[str, int] | None, held: tuple[int, int]) -> None:
    taken = None if demand is None else tuple(sorted(demand.items()))
    for moment, change in zip(held, (of.slots, -of.slots), strict=True):
        steps[of.reservation_id, of.resource_number, taken, moment] += change
