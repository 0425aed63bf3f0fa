"""The table of published offers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, String

from leasehold.db.tables import PURGED, table
from leasehold.db.types import UtcDateTime

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
    info={PURGED: ("end_at", "deleted_at")},
)
