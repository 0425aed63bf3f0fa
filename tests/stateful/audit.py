"""The checks of the harness on one world: its database at any time, and its cloud when no work is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.engine import reading
from leasehold.features.audit.database import audit_database
from tests.harness.cloud_checks import cloud_problems
from tests.harness.database_checks import NO_LEAD, database_problems
from tests.harness.tables import BOOKS, cloud_state, dump, read_tables

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import timedelta

    from tests.factory import World

__all__ = ["audit", "audit_cloud", "cloud_state", "dump"]


def audit(world: World, *, imported: bool = False, leads: Collection[timedelta] = NO_LEAD) -> None:
    """Raise AssertionError if the database breaks any invariant; `imported` says that the leases came from Blazar."""
    found = database_problems(read_tables(world.engine, BOOKS), world.now(), imported=imported, leads=leads)
    assert not found, "\n".join(found)
    with reading(world.engine) as connection:
        findings = audit_database(connection, world.now())
    # Ignore `late`: the test decides when the manager works. Ignore `kept` without a mend: it is reported while the
    # cloud refuses to take something back.
    wrong = [each for each in findings if each.kind != "late" and not (each.kind == "kept" and each.mend is None)]
    assert wrong == [], wrong


def audit_cloud(world: World) -> None:
    """Raise AssertionError if the cloud differs from the database; call it only with no work left and no fault set."""
    assert not (found := cloud_problems(read_tables(world.engine))), "\n".join(found)
