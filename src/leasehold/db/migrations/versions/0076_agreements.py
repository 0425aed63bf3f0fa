"""What was agreed with the owners of leases about their price, and budgets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, make_table

revision = "0076"
down_revision = "0075"


def upgrade() -> None:
    """Make the tables."""
    make_table(
        "agreements",
        sa.Column("lease_id", sa.String(36), primary_key=True),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        indexes=[["project_id"], ["ends_at"]],
    )
    make_table(
        "budgets",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", MOMENT, nullable=False),
        sa.Column("ends_at", MOMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("encumbered", sa.BigInteger(), nullable=False),
        sa.Column("recount", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        indexes=[["project_id"]],
    )


def downgrade() -> None:
    """Remove them; nothing has a price then."""
    op.drop_table("budgets")
    op.drop_table("agreements")
