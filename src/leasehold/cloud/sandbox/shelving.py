"""How a server of the sandbox is shelved and leaves its host, as in Nova.

A server that is SHELVED keeps its place until it is offloaded. Its row has that status from the request on: until
`done_at` of its row in `shelved` it is shown as SHELVING.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, update

from leasehold.cloud.ports import CloudTransientError
from leasehold.cloud.sandbox.boots import FORGET_PLACE, ROW, USAGES
from leasehold.cloud.sandbox.images import keep_shelved
from leasehold.cloud.sandbox.tables import servers, shelved

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

SHELVED, OFFLOADED = "SHELVED", "OFFLOADED"
"""The statuses of rows; the second is shown as SHELVED_OFFLOADED, for which the column is too short."""

_SHELVED = shelved.select().where(shelved.c.server_id == bindparam("server"))
_FORGET = delete(shelved).where(shelved.c.server_id == bindparam("server"))
_PLACE = update(servers).where(servers.c.id == bindparam("server"))
_PLACE = _PLACE.values(status=bindparam("new_status"), service_host=bindparam("new_host"))


def shelve(connection: Connection, server_id: str, now: datetime, done_at: datetime) -> None:
    """Shelve a server by `done_at`; raises CloudTransientError for one that is not ACTIVE, or is being moved."""
    row = _find(connection, server_id, now)
    if row is None:
        return
    if row["moving"] or row["status"] != "ACTIVE":
        state = "on its way to another host" if row["moving"] else row["status"]
        raise CloudTransientError(f"sandbox servers.shelve: server {server_id} is {state}")
    used = connection.execute(USAGES, {"server": server_id}).mappings().all()
    amounts = {each["resource_class"]: each["amount"] for each in used}
    # A call that breaks off half-way must not keep the next one from doing it.
    connection.execute(_FORGET, {"server": server_id})
    connection.execute(insert(shelved), {"server_id": server_id, "done_at": done_at, "amounts": amounts})
    connection.execute(_PLACE, {"server": server_id, "new_status": SHELVED, "new_host": row["service_host"]})
    keep_shelved(connection, server_id, row["name"], now, done_at)


def offload(connection: Connection, server_id: str, now: datetime) -> None:
    """Take a shelved server off its host; raises CloudTransientError for one that is not SHELVED."""
    row = _find(connection, server_id, now)
    if row is None:
        return
    kept = connection.execute(_SHELVED, {"server": server_id}).mappings().first()
    if row["status"] != SHELVED or kept is None or kept["done_at"] > now:
        raise CloudTransientError(f"sandbox servers.offload: server {server_id} is not shelved")
    for statement in FORGET_PLACE:
        connection.execute(statement, {"numbers": [server_id]})
    connection.execute(_PLACE, {"server": server_id, "new_status": OFFLOADED, "new_host": None})


def _find(connection: Connection, server_id: str, now: datetime) -> RowMapping | None:
    return connection.execute(ROW, {"server": server_id, "now": now}).mappings().first()
