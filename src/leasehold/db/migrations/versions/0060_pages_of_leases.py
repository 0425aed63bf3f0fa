"""Pages of leases are read in the order of an index, which also finds those of a project that are not deleted."""

from __future__ import annotations

from typing import Final

from leasehold.db.migrations.steps import add_index, remove_index

revision = "0060"
down_revision = "0059"
BEFORE: Final = "ix_leases_project_id_deleted_at"
NEW: Final = {
    "ix_leases_project_id_deleted_at_created_at_id": ["project_id", "deleted_at", "created_at", "id"],
    "ix_leases_deleted_at_created_at_id": ["deleted_at", "created_at", "id"],
}


def upgrade() -> None:
    """Add the indexes, and remove the one that the first of them begins with."""
    for name, columns in NEW.items():
        add_index(name, "leases", columns)
    remove_index(BEFORE, "leases")


def downgrade() -> None:
    """Restore the index of before."""
    add_index(BEFORE, "leases", ["project_id", "deleted_at"])
    for name in NEW:
        remove_index(name, "leases")
