"""The tables of the periodic audit's last round."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Text

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime

# One row: the last round of the periodic audit that began.
audit_rounds = table(
    "audit_rounds",
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("began_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("failure", Text),
)

# What the last complete round has found, in its order.
audit_findings = table(
    "audit_findings",
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("resource_type", String(66)),
    Column("what", Text, nullable=False),
    Column("remedy", Text, nullable=False),
    Column("mend", String(20)),
    Column("repaired", Text),
    Column("found_at", UtcDateTime, nullable=False),
)
