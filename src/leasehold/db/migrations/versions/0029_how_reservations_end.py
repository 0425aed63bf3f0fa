"""What happens to the servers of a reservation when its lease ends; NULL means that they are deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Add the column; old code does not write it, and deletes the servers of every reservation at its end."""
    add_column("reservations", sa.Column("ending", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    """Remove it; servers of every reservation are deleted at its end then."""
    op.drop_column("reservations", "ending")
