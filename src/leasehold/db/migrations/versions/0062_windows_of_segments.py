"""How long a segment lasts, for the index that finds those of a window."""

from __future__ import annotations

from alembic import op

from leasehold.db.migrations.steps import add_index, add_lasts, remove_index

revision = "0062"
down_revision = "0061"
INDEX = "ix_segments_resource_type_lasts_starts_at_ends_at"


def upgrade() -> None:
    """Add the column and the index; PostgreSQL and MariaDB copy the table, and writers wait."""
    add_lasts("segments")
    add_index(INDEX, "segments", ["resource_type", "lasts", "starts_at", "ends_at"])


def downgrade() -> None:
    """Remove them; a window is then found among all segments."""
    remove_index(INDEX, "segments")
    op.drop_column("segments", "lasts")
