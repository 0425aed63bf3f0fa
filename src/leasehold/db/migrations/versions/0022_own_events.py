"""Which subscriptions are to the leases and alarms of the user who made them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the column; NULL means no. Until an upgrade is complete, older managers send all events of the project."""
    add_column("subscriptions", sa.Column("own", sa.Boolean()))


def downgrade() -> None:
    """Remove it; the subscriptions are to all events of the project then."""
    op.drop_column("subscriptions", "own")
