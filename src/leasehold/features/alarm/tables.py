"""The table of capacity alarms."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, String, Text

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime

# The reservation is what the client asked for, the request what its resource type made of it. The last check wrote what
# follows `generation`; `low` keeps its value while nothing can be counted.
alarms = table(
    "alarms",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("reservation", JSON, nullable=False),
    Column("request", JSON, nullable=False),
    Column("below", BigInteger, nullable=False),
    Column("duration", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("low", Boolean),
    Column("available", BigInteger),
    Column("reason", Text),
    Column("changed_at", UtcDateTime),
    Column("checked_at", UtcDateTime),
    Column("sees_private", Boolean),
)
