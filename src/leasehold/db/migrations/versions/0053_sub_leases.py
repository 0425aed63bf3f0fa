"""Which lease a sub-lease has its resources from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column, add_index

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    """Add the column; code that does not know it makes no sub-leases."""
    add_column("leases", sa.Column("parent_id", sa.String(36)))
    add_index("ix_leases_parent_id", "leases", ["parent_id"])


def downgrade() -> None:
    """Remove it; sub-leases are leases like others then."""
    op.drop_index("ix_leases_parent_id", "leases")
    op.drop_column("leases", "parent_id")
