"""Whether a lease is at risk, and the reminders of its end that its owner has chosen; NULL means those of the operator.

`remind_at` is when the next of the owner's is due.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import MOMENT, add_column, add_index

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the columns; old code neither reads nor writes them, and reminds at the operator's times."""
    add_column("leases", sa.Column("at_risk", sa.Boolean()))
    add_column("leases", sa.Column("reminders", sa.JSON()))
    add_column("leases", sa.Column("remind_at", MOMENT))
    add_index("ix_leases_remind_at", "leases", ["remind_at"])


def downgrade() -> None:
    """Remove them; all leases are reminded at the operator's times then."""
    op.drop_index("ix_leases_remind_at", "leases")
    op.drop_column("leases", "remind_at")
    op.drop_column("leases", "reminders")
    op.drop_column("leases", "at_risk")
