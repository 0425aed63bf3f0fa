"""The table of lease templates."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, String, Text, UniqueConstraint

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime

# `scope` is the project, or empty for a public template: names are unique within it (decision 0083).
lease_templates = table(
    "lease_templates",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("scope", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("description", Text, nullable=False),
    Column("request", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Column("generation", BigInteger, nullable=False),
    UniqueConstraint("scope", "name"),
)
