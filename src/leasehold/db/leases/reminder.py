"""Which leases are to be reminded of their end (decision 0043)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import and_, or_, select

from leasehold.db.tables import leases
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection


def leases_to_remind(connection: Connection, now: datetime, rungs: Collection[int], most: int) -> Sequence[str]:
    """Return the ids of up to `most` active leases for which one of these rungs is due, or one of the lease's own.

    Those that end first come before others. Reads the leases that end within the highest rung, and those with rungs of
    their own of which one has passed, each by an index.
    """
    ends, said = leases.c.end_at, leases.c.reminded
    active = (leases.c.deleted_at.is_(None), ends > now, leases.c.status == LeaseStatus.ACTIVE)
    due = [and_(ends <= now + timedelta(seconds=rung), or_(said.is_(None), said > rung)) for rung in rungs]
    found = select(leases.c.id, ends).where(*active, leases.c.remind_at <= now).order_by(ends, leases.c.id).limit(most)
    rows = list(connection.execute(found))
    if rungs:
        soon = (ends <= now + timedelta(seconds=max(rungs)), or_(*due))
        query = select(leases.c.id, ends).where(*active, *soon, leases.c.reminders.is_(None))
        rows += connection.execute(query.order_by(ends, leases.c.id).limit(most))
    return [row.id for row in sorted(rows, key=lambda row: (row.end_at, row.id))[:most]]
