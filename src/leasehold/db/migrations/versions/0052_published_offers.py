"""Offers that owners publish, and which one a lease was made of; NULL means none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column, add_index, make_table, remove_tables

revision = "0052"
down_revision = "0049"


def upgrade() -> None:
    """Make the table, and add the column; old code treats a lease of an offer as any other."""
    make_table(
        "published_offers",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("resource_number", sa.BigInteger, nullable=False),
        sa.Column("start_at", MOMENT, nullable=False),
        sa.Column("end_at", MOMENT, nullable=False),
        sa.Column("for_project", sa.String(255)),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("deleted_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_published_offers"),
        indexes=[["resource_number"], ["project_id"]],
    )
    add_column("leases", sa.Column("published_offer", sa.String(36)))
    add_index("ix_leases_published_offer", "leases", ["published_offer"])


def downgrade() -> None:
    """Remove them; leases that were made of an offer stay as any other."""
    op.drop_index("ix_leases_published_offer", "leases")
    op.drop_column("leases", "published_offer")
    remove_tables(["published_offers"])
