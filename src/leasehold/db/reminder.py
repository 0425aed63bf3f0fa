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
    """Return the ids of up to `most` active leases for which a rung is due, those that end first before others.

    Reads the leases that end within the highest rung, by an index.
    """
    ends, said = leases.c.end_at, leases.c.reminded
    due = [and_(ends <= now + timedelta(seconds=rung), or_(said.is_(None), said > rung)) for rung in rungs]
    soon = (leases.c.deleted_at.is_(None), ends > now, ends <= now + timedelta(seconds=max(rungs)))
    query = select(leases.c.id).where(*soon, leases.c.status == LeaseStatus.ACTIVE, or_(*due))
    return connection.execute(query.order_by(ends, leases.c.id).limit(most)).scalars().all()
