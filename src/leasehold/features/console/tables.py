"""The table of sessions of the web console."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table, Text

from leasehold.db.tables import metadata
from leasehold.db.types import EXACT, UtcDateTime

# `digest` is that of the secret in the browser's cookie; only that secret opens `sealed` (decision 0096).
sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("sealed", Text, nullable=False),
    Index("ix_sessions_user_id", "user_id"),
    Index("ix_sessions_expires_at", "expires_at"),
    **EXACT,
)
