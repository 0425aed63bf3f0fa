"""The terms of flexible leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, make_table

revision = "0067"
down_revision = "0066"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "flexible_leases",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("earliest", MOMENT, nullable=False),
        sa.Column("latest", MOMENT, nullable=False),
        sa.Column("duration_seconds", sa.Integer(), nullable=False),
        sa.Column("frozen_seconds", sa.Integer(), nullable=False),
        sa.Column("strategy", sa.String(16), nullable=False),
        sa.Column("hours", sa.JSON(), nullable=False),
        sa.Column("time_zone", sa.String(64), nullable=False),
        sa.Column("start_at", MOMENT, nullable=False),
        sa.Column("end_at", MOMENT, nullable=False),
        sa.Column("frozen_at", MOMENT, nullable=False),
        sa.Column("moves", sa.Integer(), nullable=False),
        sa.Column("moved_at", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        indexes=[["project_id"], ["frozen_at"]],
    )


def downgrade() -> None:
    """Remove it; the leases stay where they are."""
    op.drop_table("flexible_leases")
