"""How long a segment lasts, for the index that finds those of a window."""

from __future__ import annotations

from leasehold.db.migrations.steps import add_lasts, remove_lasts

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    """Add the column and the index; PostgreSQL and MariaDB copy the table, and writers wait."""
    add_lasts("segments", "resource_type")


def downgrade() -> None:
    """Remove them; a window is then found among all segments."""
    remove_lasts("segments", "resource_type")
