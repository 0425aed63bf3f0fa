"""What projects and users have used, for the order of leases that wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import make_table

revision = "0075"
down_revision = "0074"


def upgrade() -> None:
    """Make the tables."""
    make_table(
        "fair_share_uses",
        sa.Column("project_id", sa.String(255), primary_key=True),
        sa.Column("user_id", sa.String(255), primary_key=True),
        sa.Column("used", sa.Double(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
    )
    make_table(
        "fair_share_counted",
        sa.Column("name", sa.String(16), primary_key=True),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("terms", sa.String(64), nullable=False),
    )


def downgrade() -> None:
    """Remove them: the use is counted anew from the record."""
    op.drop_table("fair_share_counted")
    op.drop_table("fair_share_uses")
