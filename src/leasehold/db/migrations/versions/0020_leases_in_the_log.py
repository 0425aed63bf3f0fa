"""The whole lease beside an event, for the message bus."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the column; NULL in events of resources, and in those that older code has written."""
    add_column("outbox", sa.Column("lease_state", sa.JSON()))


def downgrade() -> None:
    """Remove it; readers of the log never saw it."""
    op.drop_column("outbox", "lease_state")
