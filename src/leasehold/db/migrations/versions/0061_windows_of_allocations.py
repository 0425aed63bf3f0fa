"""How long an allocation lasts, for the index that finds those of a window, and one for what is not released."""

from __future__ import annotations

from leasehold.db.migrations.steps import add_index, add_lasts, remove_index, remove_lasts

revision = "0061"
down_revision = "0060"
UNRELEASED = "ix_allocations_pool_released_at_ends_at"


def upgrade() -> None:
    """Add the column and the indexes; PostgreSQL and MariaDB copy the table, and writers wait."""
    add_lasts("allocations", "pool")
    add_index(UNRELEASED, "allocations", ["pool", "released_at", "ends_at"])


def downgrade() -> None:
    """Remove them; a window is then found among all allocations."""
    remove_index(UNRELEASED, "allocations")
    remove_lasts("allocations", "pool")
