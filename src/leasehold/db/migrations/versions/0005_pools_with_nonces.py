"""The nonces of a pool's last generations, which distinguish a restored database from the one that it replaced."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column, and give each pool a first nonce. Processes of the previous version run on without nonces."""
    add_column("pools", sa.Column("nonces", sa.String(2000), nullable=False, server_default=""))
    pools = sa.table("pools", sa.column("name"), sa.column("generation"), sa.column("nonces"))
    bind = op.get_bind()
    for row in bind.execute(sa.select(pools.c.name, pools.c.generation).where(pools.c.nonces == "")).all():
        first = f"{row.generation}:{secrets.token_urlsafe(8)}"
        bind.execute(sa.update(pools).where(pools.c.name == row.name, pools.c.nonces == "").values(nonces=first))


def downgrade() -> None:
    """Remove it; the next upgrade begins with new nonces."""
    op.drop_column("pools", "nonces")
