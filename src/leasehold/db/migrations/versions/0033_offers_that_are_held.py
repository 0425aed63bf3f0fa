"""Until when a lease that was made as an offer may be accepted; NULL for every other lease."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column, add_index

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Add the column; old code neither reads nor writes it, and does not know the status of offers."""
    add_column("leases", sa.Column("offered_until", MOMENT))
    add_index("ix_leases_offered_until", "leases", ["offered_until"])


def downgrade() -> None:
    """Remove it; an offer that is open then has to be removed before, or accepted."""
    op.drop_index("ix_leases_offered_until", "leases")
    op.drop_column("leases", "offered_until")
