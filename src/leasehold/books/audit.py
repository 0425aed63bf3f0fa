"""What an audit reads: everything that is promised or deferred, row by row, without the calendar's help."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from leasehold.books.allocation import as_allocation
from leasehold.books.resource import resources_by_number
from leasehold.books.tables import allocations, leases, tasks
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.allocation import Allocation
    from leasehold.model.resource import Resource

BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Work:
    """A row of deferred work, and until when somebody has claimed it."""

    due_at: datetime | None
    claim_until: datetime | None


def promises(connection: Connection, now: datetime) -> Iterator[tuple[Resource, list[Allocation]]]:
    """Yield each resource with all that is promised on it now or later, by start; promises of no time are none."""
    lasting = (allocations.c.ends_at > to_seconds(now), allocations.c.ends_at > allocations.c.starts_at)
    numbers = connection.execute(select(allocations.c.resource_number).where(*lasting).distinct()).scalars()
    resources = resources_by_number(connection, numbers)
    query = select(allocations).where(*lasting).order_by(allocations.c.resource_number, allocations.c.starts_at)
    rows = connection.execute(query.execution_options(yield_per=BATCH))
    for number, held in groupby(rows, attrgetter("resource_number")):
        yield resources[number], [as_allocation(row) for row in held]


def work_for(connection: Connection, kind: str) -> dict[str, list[Work]]:
    """Return the tasks of a kind by their subject."""
    found: dict[str, list[Work]] = defaultdict(list)
    query = select(tasks.c.subject, tasks.c.due_at, tasks.c.claim_until).where(tasks.c.kind == kind)
    for subject, *values in connection.execute(query):
        found[subject].append(Work(*values))
    return found


def kept_by(connection: Connection) -> dict[str, int]:
    """Return the leases that are over and deleted, or ended, and still keep resources: how many of them each."""
    over = or_(leases.c.deleted_at.is_not(None), leases.c.status == "TERMINATED")
    query = (
        select(allocations.c.lease_id)
        .join(leases, leases.c.id == allocations.c.lease_id)
        .where(over, allocations.c.released_at.is_(None), allocations.c.ends_at > allocations.c.starts_at)
    )
    found: dict[str, int] = defaultdict(int)
    for (lease_id,) in connection.execute(query):
        found[lease_id] += 1
    return found


def all_lease_ids(connection: Connection) -> set[str]:
    """Return the ids of all leases, deleted ones included."""
    return set(connection.execute(select(leases.c.id)).scalars())
