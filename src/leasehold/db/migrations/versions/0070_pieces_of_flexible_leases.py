"""The leases of flexible requests that were cut into pieces."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, make_table

revision = "0070"
down_revision = "0069"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "flexible_pieces",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("request_id", sa.String(36), nullable=False),
        sa.Column("latest", MOMENT, nullable=False),
        indexes=[["request_id"]],
    )


def downgrade() -> None:
    """Remove it; the leases stay where they are."""
    op.drop_table("flexible_pieces")
