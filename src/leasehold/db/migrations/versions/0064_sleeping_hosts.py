"""The machines of hosts, and their sleeps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import BIG_KEY, MOMENT, make_table

revision = "0064"
down_revision = "0063"


def upgrade() -> None:
    """Make the tables."""
    make_table(
        "machines",
        sa.Column("resource_number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("power_class", sa.String(64), nullable=False),
        sa.Column("address", sa.String(255), nullable=False),
        sa.Column("kept_on", sa.Boolean(), nullable=False),
        sa.Column("failure", sa.String(500)),
        sa.Column("failed_at", MOMENT),
    )
    make_table(
        "sleeps",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("power_class", sa.String(64), nullable=False),
        sa.Column("takes_seconds", sa.Integer(), nullable=False),
        sa.Column("decided_at", MOMENT, nullable=False),
        sa.Column("stopped_at", MOMENT),
        sa.Column("off_at", MOMENT),
        sa.Column("woken_at", MOMENT),
        sa.Column("reported_at", MOMENT),
        sa.Column("cycled_at", MOMENT),
        sa.Column("ready_at", MOMENT),
        sa.Column("outcome", sa.String(16)),
        sa.Column("late", sa.Integer(), nullable=False),
        sa.Column("watts", sa.Float()),
        indexes=[["ready_at"], ["power_class", "ready_at"], ["outcome"]],
        counted=True,
    )


def downgrade() -> None:
    """Remove them; what sleeps then has to be switched on by hand."""
    op.drop_table("sleeps")
    op.drop_table("machines")
