"""Sessions of the web console: who is signed in, sealed under the secret of the browser's cookie."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    """Make the table."""
    make_table(
        "sessions",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
        indexes=[["user_id"], ["expires_at"]],
    )


def downgrade() -> None:
    """Remove it; everybody signs in again then."""
    remove_tables(["sessions"])
