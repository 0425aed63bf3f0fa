"""Which projects were told that a preemptible server of theirs will be ended, and which leases start soon."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import Column, String, and_, delete, insert, select, update

from leasehold.db.leases.lease import find_lease
from leasehold.db.tables import events, leases, table, tasks
from leasehold.db.task import LEASE
from leasehold.db.types import UtcDateTime
from leasehold.features.preemption.model import Preemption
from leasehold.model.states import EventType, LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.lease import Lease

preemptions = table(
    "preemptions",
    Column("server_id", String(255), primary_key=True),
    Column("server_name", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Column("told_at", UtcDateTime, nullable=False),
)


def leases_starting(connection: Connection, until: datetime) -> list[Lease]:
    """Return the leases whose start is worked on before a moment and that have not started, soonest first.

    That work begins before the lease does by its lead. A lease that has not started has a task that is due then at the
    latest, so the index on those is read.
    """
    waiting = (LeaseStatus.PENDING, LeaseStatus.STARTING)
    query = (
        select(leases.c.id)
        .join(tasks, tasks.c.subject == leases.c.id)
        .join(events, and_(events.c.lease_id == leases.c.id, events.c.type == EventType.START))
        .where(tasks.c.kind == LEASE, tasks.c.due_at <= until, leases.c.deleted_at.is_(None))
        .where(leases.c.status.in_(waiting), events.c.time <= until)
        .order_by(events.c.time, leases.c.id)
    )
    found = (find_lease(connection, ident) for ident in connection.execute(query).scalars().all())
    return [lease for lease in found if lease is not None]


def told_preemptions(connection: Connection) -> dict[str, Preemption]:
    """Return what was told, by the id of the server."""
    rows = connection.execute(select(preemptions))
    return {row.server_id: Preemption(row.server_id, row.server_name, row.project_id, row.ends_at) for row in rows}


def put_preemption(connection: Connection, told: Preemption, now: datetime, *, again: bool) -> None:
    """Record what was told of a server; `again`: another moment was told before.

    Raises IntegrityError when another manager tells it at the same moment.
    """
    if again:
        mine = preemptions.c.server_id == told.server_id
        connection.execute(update(preemptions).where(mine).values(ends_at=told.ends_at, told_at=now))
    else:
        connection.execute(insert(preemptions), {**asdict(told), "told_at": now})


def forget_preemptions(connection: Connection, server_ids: Collection[str]) -> None:
    """Remove what was told of these servers."""
    for ident in sorted(server_ids):
        connection.execute(delete(preemptions).where(preemptions.c.server_id == ident))
