"""An index that finds what was used on a day."""

from __future__ import annotations

from leasehold.db.migrations.steps import add_lasts, remove_lasts

revision = "0079"
down_revision = "0078"


def upgrade() -> None:
    """Make it."""
    add_lasts("usage_uses", "resource_type")


def downgrade() -> None:
    """Remove it."""
    remove_lasts("usage_uses", "resource_type")
