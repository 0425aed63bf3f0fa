"""What reservations held, as closed segments; and up to when an allocation is in them, and why its segment began.

Older processes leave the columns NULL. What their changes end is not split into segments, but its time is kept, because
whatever an allocation holds after `recorded_until` counts (docs/decisions/0036).
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import BIG_KEY, MOMENT, add_column, make_table, remove_tables

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the table and add the columns, which are nullable."""
    make_table(
        "segments",
        sa.Column("id", BIG_KEY, nullable=False, autoincrement=True),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("resource", sa.String(255), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("demand", sa.Text()),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("start_cause", sa.String(16)),
        sa.Column("end_cause", sa.String(16)),
        sa.Column("written_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_segments"),
        indexes=(("lease_id",), ("project_id", "ends_at"), ("ends_at",)),
        counted=True,
    )
    add_column("allocations", sa.Column("recorded_until", sa.BigInteger()))
    add_column("allocations", sa.Column("start_cause", sa.String(16)))


def downgrade() -> None:
    """Remove them; the record of what was held is lost."""
    op.drop_column("allocations", "start_cause")
    op.drop_column("allocations", "recorded_until")
    remove_tables(["segments"])
