"""Requests that are carried out once, however often they are sent: their idempotency keys (idea 17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.idempotency import find_key
from leasehold.db.leases.lease import find_lease
from leasehold.model.errors import ConflictError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.draft import Once
    from leasehold.model.lease import Lease


def done_before(connection: Connection, once: Once | None) -> Lease | None:
    """Return the lease, as it is now, that a request with this key has made or changed; None if there was none.

    Raises ConflictError if the key came with another request, or if that lease is gone.
    """
    found = None if once is None else find_key(connection, once.project_id, once.key)
    if once is None or found is None:
        return None
    digest, lease_id = found
    check_key(digest, once.digest)
    lease = find_lease(connection, lease_id, offered=True)
    if lease is None:
        raise done_and_gone(f"The lease or offer {lease_id} was deleted, or the offer has lapsed,")
    return lease


def done_by(service: Service, once: Once | None) -> Lease | None:
    """Do as `done_before`, in a transaction of its own."""
    if once is None:
        return None
    with service.db.reading() as connection:
        return done_before(connection, once)


def check_key(used: str, now: str) -> None:
    """Raise ConflictError if the digest of the request that used a key is not that of the request which has it now."""
    if used != now:
        message = "This Idempotency-Key was used for another request; send a fresh key with each new request."
        raise ConflictError(message, field="Idempotency-Key")


def done_and_gone(gone: str) -> ConflictError:
    """Return the error of a request that was carried out, and is not again, although nothing is left of it."""
    message = (
        f"This request was carried out before, with this Idempotency-Key. {gone} since. To ask for it again, send a "
        "fresh key."
    )
    return ConflictError(message, field="Idempotency-Key")
