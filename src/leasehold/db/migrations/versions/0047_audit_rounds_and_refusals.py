"""What the last round of the audit has found, and how many requests were refused, by hour and reason."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import MOMENT, make_table, remove_tables

revision = "0047"
down_revision = "0045"


def upgrade() -> None:
    """Make the tables; rounds of managers and refusals of APIs of an older version are not in them."""
    make_table(
        "audit_rounds",
        sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("began_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT),
        sa.Column("failure", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_audit_rounds"),
    )
    make_table(
        "audit_findings",
        sa.Column("position", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("resource_type", sa.String(66)),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("remedy", sa.Text, nullable=False),
        sa.Column("mend", sa.String(20)),
        sa.Column("repaired", sa.Text),
        sa.Column("found_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_audit_findings"),
    )
    make_table(
        "refusals",
        sa.Column("hour", MOMENT, nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("operation", sa.String(20), nullable=False),
        sa.Column("code", sa.String(80), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        sa.Column("missing", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("refused", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(
            *("hour", "project_id", "operation", "code", "resource_type", "missing"), name="pk_refusals"
        ),
    )


def downgrade() -> None:
    """Remove them; the next round and the next refusals are written by nobody then."""
    remove_tables(["audit_rounds", "audit_findings", "refusals"])
