"""How soon a resource is ready that is asleep, and since when it is woken."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    """Add the columns; NULL means that it is awake."""
    add_column("resources", sa.Column("waking_seconds", sa.Integer()))
    add_column("resources", sa.Column("waking_since", MOMENT))


def downgrade() -> None:
    """Remove them; nothing may be asleep then, because older code does not know it."""
    op.drop_column("resources", "waking_since")
    op.drop_column("resources", "waking_seconds")
