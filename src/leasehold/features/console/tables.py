"""The table of sessions of the web console."""

from __future__ import annotations

from sqlalchemy import Column, String, Text

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime

# `digest` is that of the secret in the browser's cookie; only that secret opens `sealed` (decision 0096).
sessions = table(
    "sessions",
    Column("digest", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False, index=True),
    Column("project_id", String(255), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("sealed", Text, nullable=False),
)
