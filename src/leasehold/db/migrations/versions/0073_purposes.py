"""What leases are for, in the words of their owners."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0073"
down_revision = "0072"


def upgrade() -> None:
    """Add the column; what is there already has no purpose."""
    add_column("leases", sa.Column("purpose", sa.String(255)))


def downgrade() -> None:
    """Remove it, with what was said."""
    op.drop_column("leases", "purpose")
