"""Preemptible servers whose projects were told that they will be ended."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "preemptions",
        sa.Column("server_id", sa.String(255), nullable=False),
        sa.Column("server_name", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("ends_at", MOMENT, nullable=False),
        sa.Column("told_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("server_id", name="pk_preemptions"),
    )


def downgrade() -> None:
    """Remove it; nobody is told of the end of preemptible servers then."""
    remove_tables(["preemptions"])
