"""When a series was deleted: its row stays for its idempotency key. Leases that a series has lost are found again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    """Add the column, and name the leases that were granted before the series was written, which had a key each."""
    add_column("series", sa.Column("deleted_at", MOMENT))
    connection = op.get_bind()
    series = sa.table("series", *map(sa.column, ("id", "project_id", "generation")), sa.column("occurrences", sa.JSON))
    keys = sa.table("idempotency_keys", *map(sa.column, ("project_id", "key", "lease_id")))
    leases = sa.table("leases", sa.column("id"), sa.column("deleted_at"))
    for row in connection.execute(sa.select(series).with_for_update()).all():
        granted = (
            sa.select(keys.c.key, keys.c.lease_id)
            .join(leases, sa.and_(leases.c.id == keys.c.lease_id, leases.c.deleted_at.is_(None)))
            .where(keys.c.project_id == row.project_id, keys.c.key.like(f"series/{row.id}/%"))
        )
        found = {int(key.rsplit("/", 1)[1]): lease_id for key, lease_id in connection.execute(granted)}
        named = [
            {**each, "lease_id": found[place], "refusal": None} if each["lease_id"] is None and place in found else each
            for place, each in enumerate(row.occurrences)
        ]
        if named != row.occurrences:
            # Older code that is at work on it sees by the generation that it has to read it again.
            change = {"occurrences": named, "generation": row.generation + 1}
            connection.execute(sa.update(series).where(series.c.id == row.id).values(change))


def downgrade() -> None:
    """Remove the column, with the series that are deleted."""
    series = sa.table("series", sa.column("deleted_at"))
    op.execute(sa.delete(series).where(series.c.deleted_at.is_not(None)))
    op.drop_column("series", "deleted_at")
