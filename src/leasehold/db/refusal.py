"""How many requests were refused, by hour and reason (decision 0105)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import insert, update

from leasehold.db.tables import refusals

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
