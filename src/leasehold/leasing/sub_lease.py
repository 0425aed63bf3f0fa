"""Sub-leases of a lease: those that have something of it end with it, and it stays as it is meanwhile (feature I4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease
from leasehold.db.leases.sub_lease import holding_sub_leases
from leasehold.model.errors import LendingError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.model.lease import Lease


def sub_leases_with(connection: Connection, lease: Lease, *, lock: bool = False) -> list[Lease]:
    """Return the sub-leases that have something of this lease; with `lock` they are locked, as it is."""
    ids = holding_sub_leases(connection, lease.id) if lease.has_lent else []
    found = (find_lease(connection, each, lock=lock) for each in ids)
    return [each for each in found if each is not None]


def check_not_lending(connection: Connection, lease: Lease) -> None:
    """Raise LendingError if a sub-lease has something of this lease, which is locked after its pools."""
    found = holding_sub_leases(connection, lease.id) if lease.has_lent else []
    if found:
        raise LendingError(found)
