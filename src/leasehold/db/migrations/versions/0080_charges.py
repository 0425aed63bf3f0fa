"""What was charged of agreements, and how far that is made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import BIG_KEY, add_column, add_index, make_table, remove_index

revision = "0080"
down_revision = "0079"
INDEX = "ix_agreements_charged_until"


def upgrade() -> None:
    """Make the tables; what was agreed before is charged from its start on."""
    make_table(
        "charges",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("list_name", sa.String(80), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("price", sa.String(100), nullable=False),
        sa.Column("agreed", sa.String(100), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("beside", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("booked_at", sa.BigInteger(), nullable=False),
        sa.Column("corrects", sa.BigInteger()),
        sa.Column("reason", sa.String(255)),
        indexes=[["lease_id"], ["starts_at"], ["ends_at"], ["booked_at"], ["corrects"], ["project_id", "starts_at"]],
        counted=True,
    )
    make_table(
        "charged",
        sa.Column("name", sa.String(16), primary_key=True),
        sa.Column("until", sa.BigInteger(), nullable=False),
    )
    add_column("agreements", sa.Column("charged_until", sa.BigInteger(), nullable=False, server_default="0"))
    add_index(INDEX, "agreements", ["charged_until"])


def downgrade() -> None:
    """Remove them; what was charged is known no more."""
    remove_index(INDEX, "agreements")
    op.drop_column("agreements", "charged_until")
    op.drop_table("charged")
    op.drop_table("charges")
