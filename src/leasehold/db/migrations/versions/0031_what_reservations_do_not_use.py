"""When a reservation releases what it does not use, and what is known of it; NULL means that it never does."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Add the column; old code does not write it, and keeps what is not used until the lease ends."""
    add_column("reservations", sa.Column("no_show", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    """Remove it; every reservation keeps what it does not use."""
    op.drop_column("reservations", "no_show")
