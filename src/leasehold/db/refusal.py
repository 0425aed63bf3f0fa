"""How many requests were refused, by hour and reason (decision 0105)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update

from leasehold.db.tables import refusals
from leasehold.model.refused import Operation, RefusedCount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.refused import Refused


def add_refusals(connection: Connection, counts: Mapping[tuple[datetime, Refused], int]) -> None:
    """Add counts by hour; raises IntegrityError when another process writes a new row at the same moment."""
    # In one order, so that two processes do not wait for each other.
    for (hour, refused), number in sorted(counts.items()):
        key = {"hour": hour, **asdict(refused)}
        more = update(refusals).values(refused=refusals.c.refused + number)
        same = (refusals.c[name] == value for name, value in key.items())
        if not connection.execute(more.where(*same)).rowcount:
            connection.execute(insert(refusals), {**key, "refused": number})


def list_refusals(connection: Connection, start: datetime, end: datetime) -> list[RefusedCount]:
    """Return the counts of the hours that begin in [start, end), oldest first."""
    reason = (refusals.c[name] for name in ("hour", "operation", "code", "resource_type", "missing"))
    keys = tuple(reason)
    query = (
        select(*keys, func.sum(refusals.c.refused).label("refused"), func.count().label("projects"))
        .where(refusals.c.hour >= start, refusals.c.hour < end)
        .group_by(*keys)
        .order_by(*keys)
    )
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
