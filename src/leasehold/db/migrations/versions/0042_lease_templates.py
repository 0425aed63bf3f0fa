"""Lease templates: requests for leases that are kept under a name."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0042"
down_revision = "0040"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "lease_templates",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("scope", sa.String(255), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("request", sa.JSON, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_lease_templates"),
        sa.UniqueConstraint("scope", "name", name="uq_lease_templates_scope_name"),
    )


def downgrade() -> None:
    """Remove it; leases that were made from templates stay, because they keep no tie to them."""
    remove_tables(["lease_templates"])
