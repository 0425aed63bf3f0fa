"""The table of series of leases."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, String, Text

from leasehold.db.tables import PURGED, table
from leasehold.db.types import UtcDateTime

# `draft` is what each occurrence asks for; `occurrences` are JSON because they are read and written together. A row
# stays until it is purged: a deleted one says what became of its idempotency key.
series = table(
    "series",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("rule", Text, nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("draft", JSON, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("occurrences", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Column("generation", BigInteger, nullable=False),
    Column("deleted_at", UtcDateTime),
    info={PURGED: ("deleted_at",)},
)
