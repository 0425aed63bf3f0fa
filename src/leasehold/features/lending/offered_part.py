"""What published offers of hosts of a lease offer now, as far as the database knows (decision 0111)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from leasehold.db.columns.facts import DROPPED
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.tables import allocations, leases, reservations
from leasehold.features.lending.published_offer import OfferedPart
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from leasehold.model.resource import Resource

_OVER = (LeaseStatus.TERMINATING, LeaseStatus.TERMINATED, LeaseStatus.DELETING)
LENDABLE = (
    leases.c.id == reservations.c.lease_id,
    leases.c.deleted_at.is_(None),
    leases.c.status.not_in(_OVER),
    reservations.c.cloud[DROPPED].as_string().is_(None),
)
"""The conditions of a reservation that was not dropped, and its lease, which is neither over nor deleted."""


def parts_of(connection: Connection, rows: Iterable[Row[Any]]) -> dict[str, OfferedPart]:
    """Return by id what those of these offers offer that are of a lease."""
    of_leases = [row for row in rows if row.lease_id is not None]
    if not of_leases:
        return {}
    ends = _ends(connection, {row.reservation_id for row in of_leases})
    held = _held(connection, {row.reservation_id for row in of_leases})
    lent = _lent(connection, [row.id for row in of_leases])
    return {
        row.id: OfferedPart(
            row.lease_id,
            row.reservation_id,
            row.amount,
            until=ends.get(row.reservation_id),
            has=len(held.get(row.reservation_id, ())),
            lent=lent[row.id],
            capacity=_least(held.get(row.reservation_id, ())),
        )
        for row in of_leases
    }


def _ends(connection: Connection, ids: Iterable[str]) -> Mapping[str, datetime]:
    """Return the ends of those reservations that were not dropped, of leases that are neither over nor deleted."""
    query = select(reservations.c.id, leases.c.end_at).where(reservations.c.id.in_(sorted(ids)), *LENDABLE)
    return {row.id: row.end_at for row in connection.execute(query)}


def _held(connection: Connection, ids: Iterable[str]) -> Mapping[str, list[Resource]]:
    """Return by reservation the hosts that it has, and has not left."""
    query = select(allocations.c.reservation_id, allocations.c.resource_number).where(
        allocations.c.reservation_id.in_(sorted(ids)),
        allocations.c.released_at.is_(None),
        allocations.c.left_at.is_(None),
        allocations.c.ends_at > allocations.c.starts_at,
    )
    rows = connection.execute(query).all()
    known = resources_by_number(connection, {row.resource_number for row in rows})
    found: dict[str, list[Resource]] = {}
    for row in rows:
        found.setdefault(row.reservation_id, []).append(known[row.resource_number])
    return found


def _lent(connection: Connection, ids: Iterable[str]) -> Counter[str]:
    """Return by offer how many hosts its claims have not given back."""
    query = (
        select(leases.c.published_offer, func.count())
        .join(allocations, allocations.c.lease_id == leases.c.id)
        .where(leases.c.published_offer.in_(sorted(ids)), allocations.c.released_at.is_(None))
        .group_by(leases.c.published_offer)
    )
    return Counter(dict(tuple(row) for row in connection.execute(query)))


def _least(hosts: Iterable[Resource]) -> dict[str, int]:
    """Return what each of these hosts has at least of what all have."""
    found = [each.capacity for each in hosts]
    shared = set.intersection(*map(set, found)) if found else set()
    return {name: min(each[name] for each in found) for name in sorted(shared)}
