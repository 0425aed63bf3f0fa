"""Which resources an administrator has taken out of service, and why; NULL means that it is not."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the columns; old code writes neither, and leases a disabled resource until the upgrade is complete."""
    add_column("resources", sa.Column("disabled", sa.Boolean()))
    add_column("resources", sa.Column("disabled_reason", sa.String(255)))


def downgrade() -> None:
    """Remove them; what was disabled can be leased by everybody then."""
    op.drop_column("resources", "disabled_reason")
    op.drop_column("resources", "disabled")
