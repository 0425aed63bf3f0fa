"""States of leases after changes of which nobody is told: with the events, what each lease was at each moment."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    """Make the table; what older processes beside this version change without an event is not in it."""
    make_table(
        "lease_states",
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("lease_state", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("lease_id", "generation", name="pk_lease_states"),
    )


def downgrade() -> None:
    """Remove it; the past of leases is then what their events say."""
    remove_tables(["lease_states"])
