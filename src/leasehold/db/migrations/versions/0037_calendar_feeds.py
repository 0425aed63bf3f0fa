"""Calendar feeds: who may read a project's leases at a secret address."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0037"
down_revision = "0034"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "feeds",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("own", sa.Boolean, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_feeds"),
        indexes=[["project_id"]],
    )


def downgrade() -> None:
    """Remove it; every feed ends then."""
    remove_tables(["feeds"])
