"""The table of published offers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table

from leasehold.db.tables import PURGED, metadata
from leasehold.db.types import EXACT, UtcDateTime

# An offer is of a resource, or of an amount of hosts of a reservation. What is free of it is in the calendar. A row
# stays until it is purged, deleted or not.
published_offers = Table(
    "published_offers",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", String(80), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("resource_number", BigInteger),
    Column("start_at", UtcDateTime, nullable=False),
    Column("end_at", UtcDateTime, nullable=False),
    Column("for_project", String(255)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    Column("lease_id", String(36)),
    Column("reservation_id", String(36)),
    Column("amount", Integer),
    Index("ix_published_offers_lease_id", "lease_id"),
    Index("ix_published_offers_resource_number", "resource_number"),
    Index("ix_published_offers_project_id", "project_id"),
    info={PURGED: ("end_at", "deleted_at")},
    **EXACT,
)
