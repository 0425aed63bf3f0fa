"""How a server of the sandbox is suspended on its host, as in Nova.

Its row is SUSPENDED from the request on: until `done_at` of its row in `suspended` it is shown as SUSPENDING.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, update

from leasehold.cloud.ports import CloudTransientError
from leasehold.cloud.sandbox.boots import ROW
from leasehold.cloud.sandbox.tables import servers, suspended

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

SUSPENDED = "SUSPENDED"

_FORGET = delete(suspended).where(suspended.c.server_id == bindparam("server"))
_BECOME = update(servers).where(servers.c.id == bindparam("server")).values(status=bindparam("new_status"))


def suspend(connection: Connection, server_id: str, now: datetime, done_at: datetime) -> None:
    """Suspend a server by `done_at`; raises CloudTransientError for one that is not ACTIVE, or is being moved."""
    row = connection.execute(ROW, {"server": server_id, "now": now}).mappings().first()
    if row is None:
        return
    if row["moving"] or row["status"] != "ACTIVE":
        state = "on its way to another host" if row["moving"] else row["status"]
        raise CloudTransientError(f"sandbox servers.suspend: server {server_id} is {state}")
    # A call that breaks off half-way must not keep the next one from doing it.
    connection.execute(_FORGET, {"server": server_id})
    connection.execute(insert(suspended), {"server_id": server_id, "done_at": done_at})
    connection.execute(_BECOME, {"server": server_id, "new_status": SUSPENDED})
