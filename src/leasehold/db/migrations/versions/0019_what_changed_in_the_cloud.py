"""When the cloud was found to say something else of a resource than before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column
from leasehold.db.types import UtcDateTime

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the column; NULL means that every allocation fits."""
    add_column("resources", sa.Column("changed_at", UtcDateTime()))


def downgrade() -> None:
    """Remove it; the capacities stay."""
    op.drop_column("resources", "changed_at")
