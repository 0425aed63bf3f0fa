"""Published offers: their rows, and the leases that were made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, Integer, String, and_, case, exists, func, insert, or_, select, update

from leasehold.db.paging import Listed
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.tables import PURGED, leases, reservations, resources, table
from leasehold.db.types import UtcDateTime
from leasehold.features.lending.offered_part import LENDABLE, parts_of
from leasehold.features.lending.published_offer import PublishedOffer, PublishedStatus
from leasehold.model.paging import WHOLE, PageRequest
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.notice import notice_of, seconds_of
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row

    from leasehold.features.lending.published_offer import OfferedPart

# An offer is of a resource, or of an amount of hosts of a reservation. What is free of it is in the calendar. A row
# stays until it is purged, deleted or not.
published_offers = table(
    "published_offers",
    Column("id", String(36), primary_key=True),
    Column("name", String(80), nullable=False),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("resource_number", BigInteger, index=True),
    Column("start_at", UtcDateTime, nullable=False),
    Column("end_at", UtcDateTime, nullable=False),
    Column("for_project", String(255)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    Column("lease_id", String(36), index=True),
    Column("reservation_id", String(36)),
    Column("amount", Integer),
    Column("notice_seconds", Integer),
    info={PURGED: ("end_at", "deleted_at")},
)

CHUNK = 2_000
"""Offers of which one statement reads what they offer: databases take only so many parameters."""
_SAME = ("id", "name", "project_id", "user_id", "resource_number", "for_project", "created_at")
"""The columns of an offer that are its fields."""


def add_published(connection: Connection, new: PublishedOffer) -> None:
    """Write a new offer."""
    row = {
        **{name: getattr(new, name) for name in _SAME},
        "lease_id": None if new.part is None else new.part.lease_id,
        "reservation_id": None if new.part is None else new.part.reservation_id,
        "amount": None if new.part is None else new.part.amount,
        "notice_seconds": seconds_of(new.notice) or None,
        "start_at": new.window.start,
        "end_at": new.window.end,
    }
    connection.execute(insert(published_offers), row)


def find_published(connection: Connection, ident: str) -> PublishedOffer | None:
    """Return an offer, deleted or not; None if there is none."""
    rows = connection.execute(select(published_offers).where(published_offers.c.id == ident)).all()
    return next(iter(_found(connection, rows)), None)


def list_published(
    connection: Connection, project_id: str | None, now: datetime, part: PageRequest = WHOLE
) -> Sequence[PublishedOffer]:
    """Return a part of the offers of a project and what is open to it, or with None of all, by their start."""
    status, which = _status(now), []
    if project_id is not None:
        to_it = or_(published_offers.c.for_project.is_(None), published_offers.c.for_project == project_id)
        open_to_it = and_(to_it, status == PublishedStatus.AVAILABLE)
        which = [or_(published_offers.c.project_id == project_id, open_to_it)]
    keys = {"status": status, "start_date": published_offers.c.start_at, "end_date": published_offers.c.end_at}
    order = (published_offers.c.start_at, published_offers.c.id)
    return _found(connection, Listed(published_offers, keys, order).rows(connection, part, *which))


def _status(now: datetime) -> ColumnElement[str]:
    """Return what `PublishedOffer.status` says."""
    of_owner = exists().where(
        resources.c.number == published_offers.c.resource_number,
        resources.c.deleted_at.is_(None),
        resources.c.owner == published_offers.c.project_id,
    )
    of_lease = exists().where(reservations.c.id == published_offers.c.reservation_id, *LENDABLE, leases.c.end_at > now)
    return case(
        (published_offers.c.deleted_at.is_not(None), PublishedStatus.DELETED),
        (published_offers.c.end_at <= now, PublishedStatus.EXPIRED),
        (or_(of_owner, of_lease), PublishedStatus.AVAILABLE),
        else_=PublishedStatus.ERROR,
    )


def overlapping(connection: Connection, new: PublishedOffer, now: datetime) -> str | None:
    """Return an offer of the same resource and owner that has time of this one and is not over; None: none."""
    query = select(published_offers.c.id).where(
        published_offers.c.resource_number == new.resource_number,
        published_offers.c.project_id == new.project_id,
        *_in_time_of(new.window, now),
    )
    found: str | None = connection.execute(query.order_by(published_offers.c.start_at).limit(1)).scalar()
    return found


def offers_of_part(
    connection: Connection, part: OfferedPart, window: Window, now: datetime
) -> Sequence[PublishedOffer]:
    """Return the offers of hosts of the same reservation that have time of this window and are not over."""
    query = select(published_offers).where(
        published_offers.c.lease_id == part.lease_id,
        published_offers.c.reservation_id == part.reservation_id,
        *_in_time_of(window, now),
    )
    return _found(connection, connection.execute(query).all())


def _in_time_of(window: Window, now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return what is true of the offers that can still be claimed in a window."""
    return (
        published_offers.c.deleted_at.is_(None),
        published_offers.c.start_at < window.end,
        published_offers.c.end_at > max(window.start, now),
    )


def count_published(connection: Connection, project_id: str, now: datetime) -> int:
    """Return how many offers of a project are neither deleted nor over."""
    query = (
        select(func.count())
        .select_from(published_offers)
        .where(
            published_offers.c.project_id == project_id,
            published_offers.c.deleted_at.is_(None),
            published_offers.c.end_at > now,
        )
    )
    return connection.execute(query).scalar_one()


def mark_deleted(connection: Connection, ident: str, now: datetime) -> None:
    """Record that an offer was deleted; its row stays for history."""
    mine = published_offers.c.id == ident
    connection.execute(update(published_offers).where(mine).values(deleted_at=now))


def claims_of(connection: Connection, ident: str) -> Sequence[str]:
    """Return the leases made of an offer that are neither deleted nor over, in the order of their ids."""
    over = [LeaseStatus.TERMINATED, LeaseStatus.DELETING]
    query = select(leases.c.id).where(
        leases.c.published_offer == ident, leases.c.deleted_at.is_(None), leases.c.status.not_in(over)
    )
    return connection.execute(query.order_by(leases.c.id)).scalars().all()


def _found(connection: Connection, rows: Sequence[Row[Any]]) -> list[PublishedOffer]:
    found = list[PublishedOffer]()
    for first in range(0, len(rows), CHUNK):
        found += _as_offers(connection, rows[first : first + CHUNK])
    return found


def _as_offers(connection: Connection, rows: Sequence[Row[Any]]) -> list[PublishedOffer]:
    numbers = [row.resource_number for row in rows if row.resource_number is not None]
    resources, parts = resources_by_number(connection, numbers), parts_of(connection, rows)
    return [
        PublishedOffer(
            **{name: getattr(row, name) for name in _SAME},
            resource=resources.get(row.resource_number),
            window=Window(row.start_at, row.end_at),
            deleted_at=row.deleted_at,
            part=parts.get(row.id),
            notice=notice_of(row.notice_seconds),
        )
        for row in rows
    ]
