"""What each project uses, as upper bounds; the decisions of a project lock its row.

The table replaces `projects`, which older processes may still write to.
"""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make the table; its rows are counted when they are first needed."""
    make_table(
        "project_use",
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("turns", sa.BigInteger(), nullable=False),
        sa.Column("leases", sa.BigInteger(), nullable=True),
        sa.Column("hosts", sa.BigInteger(), nullable=True),
        sa.Column("vcpus", sa.BigInteger(), nullable=True),
        sa.Column("memory_mb", sa.BigInteger(), nullable=True),
        sa.Column("floating_ips", sa.BigInteger(), nullable=True),
        sa.Column("counted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("project_id", name="pk_project_use"),
    )


def downgrade() -> None:
    """Remove it; its rows are counted again when they are needed."""
    remove_tables(["project_use"])
