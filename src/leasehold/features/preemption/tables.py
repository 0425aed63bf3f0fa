"""The table of preemptible servers whose projects were told when they will be ended."""

from __future__ import annotations

from sqlalchemy import Column, String

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime

preemptions = table(
    "preemptions",
    Column("server_id", String(255), primary_key=True),
    Column("server_name", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Column("told_at", UtcDateTime, nullable=False),
)
