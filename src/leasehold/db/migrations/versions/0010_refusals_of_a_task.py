"""How often in a row the cloud has refused a task, beside how often it was tried at all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column; tasks that wait for another try begin with 0 refusals."""
    add_column("tasks", sa.Column("refusals", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("tasks", "refusals")
