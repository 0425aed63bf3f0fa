"""What leases were for, in the record of what they held."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0074"
down_revision = "0073"


def upgrade() -> None:
    """Add the column; what is there already has no purpose."""
    add_column("segments", sa.Column("purpose", sa.String(255)))


def downgrade() -> None:
    """Remove it, with what was said."""
    op.drop_column("segments", "purpose")
