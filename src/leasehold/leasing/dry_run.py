"""What a request would do: it is decided and written like any other, and then rolled back (idea 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease
from leasehold.model.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from leasehold.model.lease import Lease


class TriedError(Exception):
    """Ends the transaction of a dry run without a trace, with the lease as it would be."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(lease.id)
        self.lease = lease


def undo(connection: Connection, lease: Lease) -> TriedError:
    """Return the error that ends a dry run; it has the lease as this transaction would leave it, with allocations."""
    found = find_lease(connection, lease.id)
    if found is None:
        raise NotFoundError("lease_id", lease.id)
    return TriedError(found)


def tried(work: Callable[[], Lease]) -> Lease:
    """Return the lease as it would be after this work, whose transaction raises what `undo` returns."""
    try:
        return work()
    except TriedError as error:
        return error.lease
