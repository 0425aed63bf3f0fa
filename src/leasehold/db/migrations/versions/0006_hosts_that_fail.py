"""The health of a host, since when it is down, and which allocations were vacated because their host failed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns; all of them are nullable."""
    add_column("resources", sa.Column("health", sa.String(16)))
    add_column("resources", sa.Column("down_since", MOMENT))
    add_column("allocations", sa.Column("left_at", MOMENT))


def downgrade() -> None:
    """Remove them; a failed host is then merely not reservable until its health is checked again."""
    op.drop_column("allocations", "left_at")
    op.drop_column("resources", "down_since")
    op.drop_column("resources", "health")
