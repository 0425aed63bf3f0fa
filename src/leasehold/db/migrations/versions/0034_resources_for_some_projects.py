"""Which projects may use a resource; NULL means all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Add the column; old code does not read it, and leases such a resource to everybody."""
    add_column("resources", sa.Column("projects", sa.JSON()))


def downgrade() -> None:
    """Remove it; everybody can lease then what was for some projects."""
    op.drop_column("resources", "projects")
