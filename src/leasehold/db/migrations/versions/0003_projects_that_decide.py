"""A row for each project whose leases are counted; the decisions of a project lock it."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import make_table, remove_tables

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "projects",
        sa.Column("id", sa.String(255), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
    )


def downgrade() -> None:
    """Remove it; its rows are made again when they are needed."""
    remove_tables(["projects"])
