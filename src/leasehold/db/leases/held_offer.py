"""Offers that nobody has accepted yet, in the database: rows of leases in a status of their own (decision 0073)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from leasehold.db.tables import leases
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

MOST = 100
"""How many offers that have lapsed are looked at together; the tasks of the others release them."""
_OFFERED = (leases.c.status == LeaseStatus.OFFERED, leases.c.deleted_at.is_(None))


def count_open_offers(connection: Connection, project_id: str, now: datetime) -> int:
    """Return how many offers of a project may still be accepted."""
    mine = (leases.c.project_id == project_id, leases.c.offered_until > now)
    query = select(func.count()).select_from(leases).where(*_OFFERED, *mine)
    count: int = connection.execute(query).scalar_one()
    return count


def lapsed_offers(connection: Connection, now: datetime) -> Sequence[str]:
    """Return the ids of offers whose time is over and whose resources are still held, `MOST` at most."""
    query = select(leases.c.id).where(*_OFFERED, leases.c.offered_until <= now).order_by(leases.c.offered_until)
    return connection.execute(query.limit(MOST)).scalars().all()
