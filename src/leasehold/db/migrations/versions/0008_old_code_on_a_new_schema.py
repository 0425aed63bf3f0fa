"""The first revision whose code works on this schema, so that old processes may run on while it is upgraded."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import add_rows, make_table, remove_tables

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the table. Code before this revision accepts only its own revision, so it counts as too old."""
    make_table(
        "schema_compatibility",
        sa.Column("oldest", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("oldest", name="pk_schema_compatibility"),
    )
    add_rows("schema_compatibility", "oldest", [{"oldest": revision}])


def downgrade() -> None:
    """Remove it."""
    remove_tables(["schema_compatibility"])
