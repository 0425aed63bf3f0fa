"""The record of usage: what was promised and not delivered or given up, and what was used."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import BIG_KEY, make_table

revision = "0072"
down_revision = "0071"


def _owner() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
    )


def upgrade() -> None:
    """Make the tables; managers fill them from the events that there are."""
    make_table(
        "usage_terms",
        sa.Column("reservation_id", sa.String(36), primary_key=True),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger()),
        sa.Column("told_at", sa.BigInteger(), nullable=False),
        sa.Column("over_at", sa.BigInteger()),
        sa.Column("lender_project_id", sa.String(255)),
        indexes=[["lease_id"], ["lender_project_id"], ["over_at", "project_id"]],
    )
    make_table(
        "usage_losses",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        *_owner(),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        indexes=[["ends_at"], ["project_id", "ends_at"]],
        counted=True,
    )
    make_table(
        "usage_uses",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        *_owner(),
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("resource", sa.String(255), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger()),
        indexes=[["ends_at"], ["reservation_id"], ["seen_at"], ["project_id", "ends_at"]],
        counted=True,
    )
    make_table(
        "usage_cursor",
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    """Remove them."""
    for name in ("usage_cursor", "usage_uses", "usage_losses", "usage_terms"):
        op.drop_table(name)
