"""Changes of capacity at a date, planned hosts, and the leases that hold hosts for them."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0068"
down_revision = "0067"


def upgrade() -> None:
    """Make the tables."""
    make_table(
        "capacity_changes",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("starts_at", MOMENT, nullable=False),
        sa.Column("first_at", MOMENT, nullable=False),
        sa.Column("ends_at", MOMENT),
        sa.Column("delays", sa.Integer(), nullable=False),
        sa.Column("promise", sa.Boolean(), nullable=False),
        sa.Column("amount", sa.Integer()),
        sa.Column("percent", sa.Integer()),
        sa.Column("resource_properties", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT),
    )
    make_table(
        "planned_hosts",
        sa.Column("resource_number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("change_id", sa.String(36), nullable=False),
        sa.Column("failure", sa.String(500)),
        indexes=[["change_id"]],
    )
    make_table(
        "capacity_holds",
        sa.Column("lease_id", sa.String(36), primary_key=True),
        sa.Column("change_id", sa.String(36), nullable=False),
        sa.Column("resource_number", sa.BigInteger()),
        indexes=[["change_id"]],
    )


def downgrade() -> None:
    """Remove them; planned hosts have to be removed before, because older code does not know them."""
    remove_tables(["capacity_holds", "planned_hosts", "capacity_changes"])
