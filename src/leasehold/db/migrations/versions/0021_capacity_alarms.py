"""Capacity alarms."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "alarms",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("reservation", sa.JSON(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("below", sa.BigInteger(), nullable=False),
        sa.Column("duration", sa.BigInteger(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("low", sa.Boolean()),
        sa.Column("available", sa.BigInteger()),
        sa.Column("reason", sa.Text()),
        sa.Column("changed_at", MOMENT),
        sa.Column("checked_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_alarms"),
        indexes=(("project_id",),),
    )


def downgrade() -> None:
    """Remove it; nobody is told of capacity then."""
    remove_tables(["alarms"])
