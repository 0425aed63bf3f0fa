"""Subscriptions to the event log, and the events that their receivers refused."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Make the tables."""
    make_table(
        "subscriptions",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("all_projects", sa.Boolean(), nullable=False),
        sa.Column("channel", sa.String(16), nullable=False),
        sa.Column("target", sa.String(2000), nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("event_types", sa.JSON(), nullable=False),
        sa.Column("lease_id", sa.String(36)),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("refusals", sa.Integer(), nullable=False),
        sa.Column("failing_since", MOMENT),
        sa.Column("suspended_at", MOMENT),
        sa.Column("due_at", MOMENT),
        sa.Column("last_error", sa.Text()),
        sa.Column("claimed_by", sa.String(64)),
        sa.Column("claim_until", MOMENT),
        sa.Column("served_at", MOMENT, nullable=False),
        sa.Column("slow_until", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_subscriptions"),
        indexes=(("project_id",), ("served_at",)),
    )
    make_table(
        "dead_letters",
        sa.Column("subscription_id", sa.String(36), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_id", sa.String(36), nullable=False),
        sa.Column("event_type", sa.String(66), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("died_at", MOMENT, nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", "position", name="pk_dead_letters"),
        sa.ForeignKeyConstraint(["subscription_id"], ["subscriptions.id"], name="fk_dead_letters_subscription_id"),
    )


def downgrade() -> None:
    """Remove them; nobody is sent anything then."""
    remove_tables(["dead_letters", "subscriptions"])
