"""Which allocations healing chose while their reservation was active."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column; NULL means none."""
    add_column("allocations", sa.Column("substitute", sa.Boolean()))


def downgrade() -> None:
    """Remove it; the flags stay."""
    op.drop_column("allocations", "substitute")
