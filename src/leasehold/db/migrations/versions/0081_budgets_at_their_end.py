"""What becomes of leases when their budget ends, and what was told of budgets and of such leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column, make_table

revision = "0081"
down_revision = "0080"


def upgrade() -> None:
    """Make them; with the budgets that are there leases run on, as they did."""
    add_column("budgets", sa.Column("at_end", sa.String(8), nullable=False, server_default="run"))
    make_table(
        "budget_warnings",
        sa.Column("budget_id", sa.String(36), primary_key=True),
        sa.Column("percent", sa.Integer(), nullable=False),
        sa.Column("end_told", MOMENT),
    )
    make_table(
        "budget_notices",
        sa.Column("lease_id", sa.String(36), primary_key=True),
        sa.Column("budget_id", sa.String(36), nullable=False),
        sa.Column("told_at", MOMENT, nullable=False),
        sa.Column("lease_end", MOMENT, nullable=False),
        sa.Column("ends_at", MOMENT),
    )


def downgrade() -> None:
    """Remove them; leases run on then."""
    op.drop_table("budget_notices")
    op.drop_table("budget_warnings")
    op.drop_column("budgets", "at_end")
