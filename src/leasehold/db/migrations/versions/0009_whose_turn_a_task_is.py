"""The project whose turn a task is claimed in; tasks that were written before have none, and share a turn."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column."""
    add_column("tasks", sa.Column("project_id", sa.String(255)))


def downgrade() -> None:
    """Remove it; who made a task is in its lease."""
    op.drop_column("tasks", "project_id")
