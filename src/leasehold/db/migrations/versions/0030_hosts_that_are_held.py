"""For which best-effort lease a resource is held; NULL means for none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Add the column; old code does not write it, and leases a held resource to anybody until the upgrade is done."""
    add_column("resources", sa.Column("held_for", sa.String(36)))


def downgrade() -> None:
    """Remove it; what was held can be leased by everybody then."""
    op.drop_column("resources", "held_for")
