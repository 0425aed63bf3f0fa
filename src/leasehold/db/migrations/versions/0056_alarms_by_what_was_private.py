"""Whether an alarm was made by somebody who may use private properties."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    """Add the column; NULL means no, so an older alarm on a private property is not counted any more."""
    add_column("alarms", sa.Column("sees_private", sa.Boolean()))


def downgrade() -> None:
    """Remove it; all alarms are counted again."""
    op.drop_column("alarms", "sees_private")
