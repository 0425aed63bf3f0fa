"""A secret key, of which the words are made that name resources to who may not know which they are."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from leasehold.db.migrations.steps import add_rows, make_table, remove_tables

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    """Make the table with its row; old code reads neither."""
    make_table(
        "secret_keys",
        sa.Column("name", sa.String(16), nullable=False),
        sa.Column("value", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_secret_keys"),
    )
    add_rows("secret_keys", "name", [{"name": "rows", "value": secrets.token_hex(32)}])


def downgrade() -> None:
    """Remove it; after another upgrade the words are others."""
    remove_tables(["secret_keys"])
