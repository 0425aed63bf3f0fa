"""The properties that operators prefer for a reservation that names none, and whether what it got has them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from leasehold.db.migrations.steps import add_column

revision = "0040"
down_revision = "0037"


def upgrade() -> None:
    """Add the column; old code does not write it, and decides without default properties."""
    add_column("reservations", sa.Column("default_properties", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    """Remove it; later decisions about these reservations are made without default properties."""
    op.drop_column("reservations", "default_properties")
