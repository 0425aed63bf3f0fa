"""What leases are for, in the words of their owners, also in the record of what they held."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0073"
down_revision = "0072"


def upgrade() -> None:
    """Add the columns; what is there already has no purpose."""
    for table in ("leases", "segments"):
        add_column(table, sa.Column("purpose", sa.String(255)))


def downgrade() -> None:
    """Remove them, with what was said."""
    for table in ("segments", "leases"):
        op.drop_column(table, "purpose")
