"""Requests that are carried out once, however often they are sent: their idempotency keys (idea 17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.idempotency import find_key
from leasehold.db.lease import find_lease
from leasehold.model.errors import ConflictError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.model.draft import Once
    from leasehold.model.lease import Lease


def done_before(connection: Connection, once: Once | None) -> Lease | None:
    """Return the lease, as it is now, that a request with this key has made or changed; None if there was none.

    Raises ConflictError if the key came with another request.
    """
    found = None if once is None else find_key(connection, once.project_id, once.key)
    if once is None or found is None:
        return None
    digest, lease_id = found
    lease = find_lease(connection, lease_id, offered=True)
    if digest != once.digest or lease is None:
        message = "This Idempotency-Key was used for another request; send a fresh key with each new request."
        raise ConflictError(message, field="Idempotency-Key")
    return lease
