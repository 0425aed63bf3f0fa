"""How many requests were refused, by hour and reason (decision 0105)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from leasehold.db.tables import refusals
from leasehold.model.refused import Operation

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.leasing.refusals import RefusalCounts


@dataclass(frozen=True, slots=True)
class RefusedCount:
    """How many requests were refused in an hour for one reason; `projects` is how many projects sent them."""

    hour: datetime
    operation: Operation
    code: str
    resource_type: str
    missing: int
    refused: int
    projects: int


def read_refusals(counts: RefusalCounts, start: datetime, end: datetime) -> list[RefusedCount]:
    """Return how many requests were refused in the hours that begin in [start, end), oldest first.

    What other processes have counted within the last seconds is not in it.
    """
    counts.write()
    keys = tuple(refusals.c[name] for name in ("hour", "operation", "code", "resource_type", "missing"))
    query = (
        select(*keys, func.sum(refusals.c.refused).label("refused"), func.count().label("projects"))
        .where(refusals.c.hour >= start, refusals.c.hour < end)
        .group_by(*keys)
        .order_by(*keys)
    )
    with counts.db.reading() as connection:
        return [
            RefusedCount(
                row.hour,
                Operation(row.operation),
                row.code,
                row.resource_type,
                row.missing,
                int(row.refused),
                row.projects,
            )
            for row in connection.execute(query)
        ]
