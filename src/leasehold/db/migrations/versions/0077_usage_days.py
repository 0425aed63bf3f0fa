"""Sums of usage by day, and who has used something."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import BIG_KEY, add_column, add_index, make_table, remove_index

revision = "0077"
down_revision = "0076"

COLUMNS = ("held", "late", "missing", "given_up", "used", "watched", "no_show", "lent")


def upgrade() -> None:
    """Make the table, which managers fill."""
    make_table(
        "usage_days",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in COLUMNS),
        sa.UniqueConstraint("day", "project_id", "user_id", "resource_type"),
        counted=True,
    )
    add_column("usage_terms", sa.Column("unused", sa.Integer(), server_default="1"))
    terms, uses = (
        sa.table(name, sa.column("reservation_id"), sa.column("unused")) for name in ("usage_terms", "usage_uses")
    )
    used = sa.exists().where(uses.c.reservation_id == terms.c.reservation_id)
    op.execute(sa.update(terms).where(used).values(unused=None))
    add_index("ix_usage_terms_unused_over_at", "usage_terms", ["unused", "over_at"])


def downgrade() -> None:
    """Remove them; reports are sums of spans again."""
    remove_index("ix_usage_terms_unused_over_at", "usage_terms")
    op.drop_column("usage_terms", "unused")
    op.drop_table("usage_days")
