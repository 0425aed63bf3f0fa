"""The type of a lease, and how long it waits for resources; NULL means that it is scheduled and does not wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column, add_index

revision = "0023"
down_revision = "0022"
INDEX = "ix_leases_waiting_since"


def upgrade() -> None:
    """Add the columns; leases that exist, and those that old code makes, are scheduled and do not wait."""
    add_column("leases", sa.Column("type", sa.String(16)))
    add_column("leases", sa.Column("waiting", sa.JSON()))
    add_column("leases", sa.Column("waiting_since", MOMENT))
    add_index(INDEX, "leases", ["waiting_since"])


def downgrade() -> None:
    """Remove them; a lease that waits has to be deleted before."""
    op.drop_index(INDEX, "leases")
    for name in ("waiting_since", "waiting", "type"):
        op.drop_column("leases", name)
