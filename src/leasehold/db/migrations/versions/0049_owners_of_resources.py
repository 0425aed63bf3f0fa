"""Which project a resource belongs to; NULL means none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Add the column; for old code the owner is one of the projects that may use the resource."""
    add_column("resources", sa.Column("owner", sa.String(255)))


def downgrade() -> None:
    """Remove it; the owners stay among the projects that may use their resources."""
    op.drop_column("resources", "owner")
