"""When the leases that are there hold what they have: as their allocations say."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"
LENGTHS = (*(4**power for power in range(5, 13)), 4**19)
OVER = ("TERMINATED", "DELETING", "TIMEDOUT")


def upgrade() -> None:
    """Note it for every open lease; one that older code writes afterwards is read whatever its window."""
    noted = ("holds_from", "holds_length", "holds_noted")
    leases = sa.table("leases", *map(sa.column, ("id", "status", "deleted_at", "generation", *noted)))
    held = sa.table("allocations", *map(sa.column, ("lease_id", "starts_at", "ends_at")))
    begin, end = sa.func.min(held.c.starts_at), sa.func.max(held.c.ends_at)
    length = sa.case(*((end - begin <= each, each) for each in LENGTHS[:-1]), else_=LENGTHS[-1])
    mine = held.c.lease_id == leases.c.id
    op.execute(
        sa.update(leases)
        .where(leases.c.deleted_at.is_(None), leases.c.status.not_in(OVER), sa.exists().where(mine))
        .values(
            holds_from=sa.select(begin).where(mine).scalar_subquery(),
            holds_length=sa.select(length).where(mine).scalar_subquery(),
            holds_noted=leases.c.generation,
        )
    )


def downgrade() -> None:
    """Nothing: the columns go with the revision before."""
