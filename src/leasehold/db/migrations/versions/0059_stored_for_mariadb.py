"""How long a lease holds what it has is stored on MariaDB too, which may fail to recover an indexed virtual column.

MDEV-39261. A member of a Galera cluster that started after a crash took memory until its machine had none left.

What was deleted or over before is noted as holding nothing, or each count for a limit would read all of it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0059"
down_revision = "0058"
OVER = ("TERMINATED", "DELETING", "TIMEDOUT")
MAKE_ANEW = """
    ALTER TABLE leases
    DROP INDEX ix_leases_project_id_holds_for_holds_from, DROP COLUMN holds_for,
    ADD COLUMN holds_for BIGINT AS (CASE WHEN holds_noted = generation THEN holds_length END) STORED,
    ADD INDEX ix_leases_project_id_holds_for_holds_from (project_id, holds_for, holds_from)
"""


def upgrade() -> None:
    """Make the column anew where revision 0057 made it virtual; MariaDB copies the table, and writers wait."""
    names = ("status", "deleted_at", "generation", "holds_length", "holds_noted", "holds_for")
    leases = sa.table("leases", *map(sa.column, names))
    over = sa.and_(leases.c.status.in_(OVER), leases.c.holds_for.is_(None))
    gone = sa.or_(leases.c.deleted_at.is_not(None), over)
    op.execute(sa.update(leases).where(gone).values(holds_length=0, holds_noted=leases.c.generation))
    bind = op.get_bind()
    columns = {each["name"]: each for each in sa.inspect(bind).get_columns("leases")}
    if bind.dialect.name == "mysql" and not columns["holds_for"]["computed"]["persisted"]:
        op.execute(MAKE_ANEW)


def downgrade() -> None:
    """Nothing: code of 0058 reads a stored column as well."""
