"""Offers of hosts of a lease: they name a reservation and an amount in place of a resource."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column, add_index

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    """Add the columns; hosts of a lease are offered when no older code runs, which cannot list such offers."""
    for column in (
        sa.Column("lease_id", sa.String(36)),
        sa.Column("reservation_id", sa.String(36)),
        sa.Column("amount", sa.Integer),
    ):
        add_column("published_offers", column)
    _may_name_no_resource(allowed=True)
    add_index("ix_published_offers_lease_id", "published_offers", ["lease_id"])


def downgrade() -> None:
    """Remove them, with the offers that need them; leases that were made of one stay as sub-leases."""
    offers = sa.table("published_offers", sa.column("resource_number"))
    op.execute(sa.delete(offers).where(offers.c.resource_number.is_(None)))
    op.drop_index("ix_published_offers_lease_id", "published_offers")
    _may_name_no_resource(allowed=False)
    for column in ("amount", "reservation_id", "lease_id"):
        op.drop_column("published_offers", column)


def _may_name_no_resource(*, allowed: bool) -> None:
    with op.batch_alter_table("published_offers") as table:
        table.alter_column("resource_number", existing_type=sa.BigInteger, nullable=allowed)
