"""Whether a lease may wait for resources of a pool; NULL means that none does."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the column; old code neither reads nor writes it."""
    add_column("pools", sa.Column("waiting", sa.Boolean()))


def downgrade() -> None:
    """Remove it; leases that wait are then tried when their pause is over only."""
    op.drop_column("pools", "waiting")
