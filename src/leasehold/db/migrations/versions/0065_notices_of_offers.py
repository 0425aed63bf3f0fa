"""How long ahead who has claimed of a published offer is told that it is taken back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0065"
down_revision = "0064"


def upgrade() -> None:
    """Add the column; NULL means not at all."""
    add_column("published_offers", sa.Column("notice_seconds", sa.Integer()))


def downgrade() -> None:
    """Remove it; leases that were claimed keep their notice, which older code does not give."""
    op.drop_column("published_offers", "notice_seconds")
