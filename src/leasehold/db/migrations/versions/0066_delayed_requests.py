"""How many requests sleeping hosts have delayed, by day, class of machines and zone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, make_table

revision = "0066"
down_revision = "0065"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "power_delays",
        sa.Column("day", MOMENT, primary_key=True),
        sa.Column("power_class", sa.String(64), primary_key=True),
        sa.Column("zone", sa.String(255), primary_key=True),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("power_delays")
