"""A row for each project whose leases are counted, at which its decisions wait for each other."""

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
    """Remove it; what it holds is made again when it is needed."""
    remove_tables(["projects"])
