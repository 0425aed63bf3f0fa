"""Which reservations have some resources and have not started (feature A9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from leasehold.db.allocation import as_allocation
from leasehold.db.columns.default_properties import read_default_properties
from leasehold.db.columns.facts import read_facts
from leasehold.db.tables import allocations, leases, reservations
from leasehold.model.reservation import open_to
from leasehold.model.states import LeaseStatus, ReservationStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.allocation import Allocation
    from leasehold.model.terms.default_properties import DefaultProperties
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Unstarted:
    """A reservation that has not started, with its request as stored, its default properties and all that it holds.

    `projects` are those that may use it.
    """

    id: str
    lease_id: str
    resource_type: str
    request: Mapping[str, Any]
    held: tuple[Allocation, ...] = field(default=())
    projects: tuple[str, ...] = ()
    default: DefaultProperties | None = None


def unstarted_on(
    connection: Connection, numbers: Collection[int], window: Window, after: datetime, most: int
) -> list[Unstarted]:
    """Return reservations that have one of these resources in the window and begin after a moment, soonest first.

    One statement, and at most `most` reservations. Those that miss something, have got something else, or are at risk
    are left out, and so are those with an allocation that was vacated or never ended with the others.
    """
    start, end = window.seconds
    there = (
        select(allocations.c.reservation_id)
        .where(
            allocations.c.resource_number.in_(numbers),
            allocations.c.ends_at > start,
            allocations.c.starts_at < end,
            allocations.c.starts_at > to_seconds(after),
            allocations.c.ends_at > allocations.c.starts_at,
            allocations.c.released_at.is_(None),
        )
        .group_by(allocations.c.reservation_id)
        .order_by(func.min(allocations.c.starts_at), allocations.c.reservation_id)
        .limit(most)
        .subquery()
    )
    query = (
        select(
            *(allocations, reservations.c.resource_type, reservations.c.request, reservations.c.default_properties),
            *(reservations.c.cloud, leases.c.project_id),
        )
        .join(there, there.c.reservation_id == allocations.c.reservation_id)
        .join(reservations, reservations.c.id == allocations.c.reservation_id)
        .join(leases, leases.c.id == allocations.c.lease_id)
        .where(
            allocations.c.released_at.is_(None),
            leases.c.status == LeaseStatus.PENDING,
            leases.c.deleted_at.is_(None),
            leases.c.degraded.is_(False),
            func.coalesce(leases.c.at_risk, False).is_(False),
            leases.c.start_at > after,
            # One that was made of a published offer keeps its resource.
            leases.c.published_offer.is_(None),
            reservations.c.status == ReservationStatus.PENDING,
            reservations.c.missing_resources.is_(False),
            reservations.c.resources_changed.is_(False),
        )
        .order_by(allocations.c.reservation_id, allocations.c.id)
    )
    found = []
    for _, group in groupby(connection.execute(query), attrgetter("reservation_id")):
        rows = list(group)
        held = tuple(map(as_allocation, rows))
        if all(each.left_at is None and not each.substitute and each.window == held[0].window for each in held):
            first = rows[0]
            ids = (first.reservation_id, first.lease_id)
            default = read_default_properties(first.default_properties)
            projects = (first.project_id, *open_to(read_facts(first.cloud)["shares"]))
            found.append(Unstarted(*ids, first.resource_type, first.request, held, projects, default))
    return sorted(found, key=lambda each: (each.held[0].window.start, each.id))
