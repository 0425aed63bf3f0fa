"""The last reminder of the end of a lease, in seconds before the end; NULL means none yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the column; a lease that exists, or that old code makes, is reminded by what its end is then."""
    add_column("leases", sa.Column("reminded", sa.Integer()))


def downgrade() -> None:
    """Remove it; nobody is reminded then."""
    op.drop_column("leases", "reminded")
