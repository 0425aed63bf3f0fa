"""How much of what a reservation was promised has no allocation any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column; where old code sets `missing_resources`, it is not known."""
    add_column("reservations", sa.Column("missing", sa.Integer()))


def downgrade() -> None:
    """Remove it; the flags stay."""
    op.drop_column("reservations", "missing")
