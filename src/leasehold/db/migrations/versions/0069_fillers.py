"""Fillers, and the hosts that they have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, make_table

revision = "0069"
down_revision = "0068"


def upgrade() -> None:
    """Make the tables."""
    make_table(
        "fillers",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("reservation", sa.JSON(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("at_least_seconds", sa.Integer(), nullable=False),
        sa.Column("ends_at", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT),
        indexes=[["project_id"], ["ended_at"]],
    )
    make_table(
        "filled_hosts",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("filler_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("granted_at", MOMENT, nullable=False),
        sa.Column("told_until", MOMENT),
        sa.Column("arrived_at", MOMENT),
        sa.Column("told_at", MOMENT),
        sa.Column("leaves_at", MOMENT),
        sa.Column("reason", sa.String(500)),
        sa.Column("overdue_at", MOMENT),
        sa.Column("ended_at", MOMENT),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("claimer", sa.String(36)),
        sa.Column("claim_until", MOMENT),
        indexes=[["filler_id"], ["ended_at", "resource_number"]],
    )


def downgrade() -> None:
    """Remove them; nothing may be in use by a filler then, because older code does not end it."""
    op.drop_table("filled_hosts")
    op.drop_table("fillers")
