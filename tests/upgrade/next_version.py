"""The next version: a copy of the package with one more migration, and code that needs what the migration adds."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import leasehold
from leasehold.db import schema

if TYPE_CHECKING:
    from pathlib import Path

MIGRATION = '''"""A column and a table that the next version needs."""

import sqlalchemy as sa

from leasehold.db.migrations.steps import add_column, make_table, remove_tables

revision = "{revision}"
down_revision = "{before}"


def upgrade():
    add_column("leases", sa.Column("note", sa.String(20)))
    make_table("lease_notes", sa.Column("lease_id", sa.String(36), primary_key=True))


def downgrade():
    remove_tables(["lease_notes"])
'''
TABLES = """\
leases.append_column(Column("note", String(20), default="new"))
lease_notes = Table("lease_notes", metadata, Column("lease_id", String(36), primary_key=True), **EXACT)
"""
INSERT = """\
    from leasehold.db.tables import lease_notes
    connection.execute(insert(lease_notes), {"lease_id": lease.id})
"""
ADDITIONS = {
    "db/tables.py": (TABLES, 'events = Table(\n    "events",'),
    "db/leases/lease.py": (INSERT, "    if lease.reservations:\n        rows = ["),
}
"""The text to insert, and the line to insert it before; by the file's path in the package."""


def make_next_version(folder: Path) -> str:
    """Write the next version into a folder, to be put first in PYTHONPATH; return the revision that it needs."""
    package = folder / "leasehold"
    (source,) = leasehold.__path__
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = schema.head()
    revision = f"{int(before) + 1:04d}"
    migration = package / "db" / "migrations" / "versions" / f"{revision}_the_next_version.py"
    migration.write_text(MIGRATION.format(revision=revision, before=before))
    for name, (added, line) in ADDITIONS.items():
        text = (package / name).read_text()
        assert text.count(line) == 1, f"{name} has changed: adapt ADDITIONS"
        (package / name).write_text(text.replace(line, added + line))
    return revision
