"""When the database's clock was last believed, and when an operator last accepted a jump of it."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, add_rows, make_table, remove_tables

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the table with its one row."""
    make_table(
        "clock",
        sa.Column("name", sa.String(16), nullable=False),
        sa.Column("seen_at", MOMENT),
        sa.Column("accepted_at", MOMENT),
        sa.PrimaryKeyConstraint("name", name="pk_clock"),
    )
    add_rows("clock", "name", [{"name": "database"}])


def downgrade() -> None:
    """Remove it."""
    remove_tables(["clock"])
