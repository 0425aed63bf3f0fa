"""What healing may do for a lease; NULL means the operator's default."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column; leases that exist, and those that old code makes, have the operator's default."""
    add_column("leases", sa.Column("heal_policy", sa.String(24)))


def downgrade() -> None:
    """Remove it; all leases then have the operator's default."""
    op.drop_column("leases", "heal_policy")
