"""Calendar feeds: their rows (decision 0076)."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, String

from leasehold.db.owned import OwnedRows
from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime
from leasehold.features.feed.model import Feed

# Of its secret only a digest is kept (decision 0076).
feeds = table(
    "feeds",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("own", Boolean, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

FEEDS = OwnedRows(feeds, Feed)
