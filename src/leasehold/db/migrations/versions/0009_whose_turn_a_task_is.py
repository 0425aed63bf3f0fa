"""The project whose share of the claims a task counts to; tasks written before have none and count as one project."""

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
    """Remove it; the project of a task is also in its lease."""
    op.drop_column("tasks", "project_id")
