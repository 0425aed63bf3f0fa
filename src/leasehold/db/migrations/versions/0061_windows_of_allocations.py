"""How long an allocation lasts, for the index that finds those of a window, and one for what is not released."""

from __future__ import annotations

from typing import Final

from alembic import op

from leasehold.db.migrations.steps import add_index, add_lasts, remove_index

revision = "0061"
down_revision = "0060"
INDEXES: Final = {
    "ix_allocations_pool_lasts_starts_at_ends_at": ["pool", "lasts", "starts_at", "ends_at"],
    "ix_allocations_pool_released_at_ends_at": ["pool", "released_at", "ends_at"],
}


def upgrade() -> None:
    """Add the column and the indexes; PostgreSQL and MariaDB copy the table, and writers wait."""
    add_lasts("allocations")
    for name, columns in INDEXES.items():
        add_index(name, "allocations", columns)


def downgrade() -> None:
    """Remove them; a window is then found among all allocations."""
    for name in INDEXES:
        remove_index(name, "allocations")
    op.drop_column("allocations", "lasts")
