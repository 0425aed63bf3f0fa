"""The outbox becomes the event log: each row gets a position, and one row says how far positions have come.

Rows of before get their positions from the first manager of this version, in the order of their keys.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column, add_index, add_rows, make_table, remove_tables

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the columns, all nullable: old code writes rows without them."""
    for column in (
        sa.Column("generation", sa.BigInteger(), nullable=True),
        sa.Column("resource_type", sa.String(66), nullable=True),
        sa.Column("resource_id", sa.String(36), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("nonce", sa.String(16), nullable=True),
    ):
        add_column("outbox", column)
    add_index("ix_outbox_position", "outbox", ["position"])
    add_index("ix_outbox_project_id_position", "outbox", ["project_id", "position"])
    make_table(
        "event_log",
        sa.Column("name", sa.String(16), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("nonce", sa.String(16), nullable=False),
        sa.Column("purged", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_event_log"),
    )
    add_rows("event_log", "name", [{"name": "outbox", "last": 0, "nonce": "0" * 16, "purged": 0}])


def downgrade() -> None:
    """Remove them, with the events of resources, which old code does not know; those of leases stay."""
    remove_tables(["event_log"])
    op.execute("DELETE FROM outbox WHERE resource_id IS NOT NULL")
    op.drop_index("ix_outbox_project_id_position", "outbox")
    op.drop_index("ix_outbox_position", "outbox")
    for name in ("nonce", "position", "resource_id", "resource_type", "generation"):
        op.drop_column("outbox", name)
