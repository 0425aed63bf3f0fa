"""When a lease holds what it has, for the index that finds those which hold something in a window."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column, add_index

revision = "0057"
down_revision = "0056"
INDEX = "ix_leases_project_id_holds_for_holds_from"
COLUMNS = ("holds_from", "holds_length", "holds_noted")


def upgrade() -> None:
    """Add the columns; older code does not write them, so the last one is NULL after each of its writes."""
    for name in COLUMNS:
        add_column("leases", sa.Column(name, sa.BigInteger))
    # SQLite adds no stored column. PostgreSQL has no index on another, and MariaDB may not recover one (0059).
    stored = None if op.get_bind().dialect.name == "sqlite" else True
    noted = sa.Computed("CASE WHEN holds_noted = generation THEN holds_length END", persisted=stored)
    add_column("leases", sa.Column("holds_for", sa.BigInteger, noted))
    add_index(INDEX, "leases", ["project_id", "holds_for", "holds_from"])


def downgrade() -> None:
    """Remove them; all leases of a project are then read again."""
    op.drop_index(INDEX, "leases")
    for name in ("holds_for", *COLUMNS):
        op.drop_column("leases", name)
