"""An index that finds the leases that have changed since a moment, to say without reading all that none has."""

from __future__ import annotations

from alembic import op

from leasehold.db.migrations.steps import add_index

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    """Add the index; old code works with it as without."""
    add_index("ix_leases_updated_at", "leases", ["updated_at"])


def downgrade() -> None:
    """Remove it; the question is then answered by reading all leases."""
    op.drop_index("ix_leases_updated_at", "leases")
