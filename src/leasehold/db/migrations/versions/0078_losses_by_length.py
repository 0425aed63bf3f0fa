"""An index that finds what was lost on a day, and one by reservation."""

from __future__ import annotations

from leasehold.db.migrations.steps import add_index, add_lasts, remove_index, remove_lasts

revision = "0078"
down_revision = "0077"
INDEX = "ix_usage_losses_reservation_id"


def upgrade() -> None:
    """Make them."""
    add_index(INDEX, "usage_losses", ["reservation_id"])
    add_lasts("usage_losses", "state")


def downgrade() -> None:
    """Remove them."""
    remove_lasts("usage_losses", "state")
    remove_index(INDEX, "usage_losses")
