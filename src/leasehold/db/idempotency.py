"""Idempotency keys: one request per key, so that a client may safely repeat it (idea 17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from leasehold.db.tables import idempotency_keys

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.together import Writer

_INSERT = insert(idempotency_keys)


def find_key(connection: Connection, project_id: str, key: str) -> tuple[str, str] | None:
    """Return the digest of the request that used this key and the id of the lease it made or changed, or None."""
    query = select(idempotency_keys.c.request_digest, idempotency_keys.c.lease_id).where(
        idempotency_keys.c.project_id == project_id, idempotency_keys.c.key == key
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else (row.request_digest, row.lease_id)


def keep_key(connection: Writer, project_id: str, key: str, digest: str, lease_id: str, now: datetime) -> None:
    """Store which lease was made or changed with a key."""
    connection.execute(
        _INSERT,
        {"project_id": project_id, "key": key, "request_digest": digest, "lease_id": lease_id, "created_at": now},
    )
