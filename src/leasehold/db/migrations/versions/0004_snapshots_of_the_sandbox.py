"""Snapshots of the sandbox's servers; several may have one name, and each takes a while and may fail."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "sandbox_snapshots",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("server_id", sa.String(64), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("reservation_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("ready_at", MOMENT, nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_snapshots"),
        indexes=[["server_id"], ["reservation_id"]],
    )


def downgrade() -> None:
    """Remove it with its rows."""
    remove_tables(["sandbox_snapshots"])
