"""Which pool a resource is in or moves to, since when, and why the last draw failed; NULL: in the reservation pool."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column
from leasehold.db.types import UtcDateTime

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the columns. What is not in the reservation pool is not `reservable` either: old code does not lease it."""
    add_column("resources", sa.Column("membership", sa.String(16)))
    add_column("resources", sa.Column("membership_since", UtcDateTime()))
    add_column("resources", sa.Column("membership_reason", sa.String(500)))


def downgrade() -> None:
    """Remove them; give shared hosts up before: old code makes them reservable when it checks their health."""
    for name in ("membership_reason", "membership_since", "membership"):
        op.drop_column("resources", name)
