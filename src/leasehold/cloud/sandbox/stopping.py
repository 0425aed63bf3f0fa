"""How a server of the sandbox is suspended on its host, or is shelved and leaves it, as in Nova.

A server that is SHELVED keeps its place until it is offloaded. A row has its new status from the request on: until
`done_at` of the server's row in `shelved` or `suspended` it is shown as SHELVING or SUSPENDING.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, update

from leasehold.cloud.ports import CloudTransientError
from leasehold.cloud.sandbox.boots import FORGET_PLACE, ROW, USAGES
from leasehold.cloud.sandbox.images import keep_shelved
from leasehold.cloud.sandbox.tables import servers, shelved, suspended

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

SUSPENDED, SHELVED, OFFLOADED = "SUSPENDED", "SHELVED", "OFFLOADED"
"""The statuses of rows; the last is shown as SHELVED_OFFLOADED, for which the column is too short."""

_SHELVED = shelved.select().where(shelved.c.server_id == bindparam("server"))
_NOT_SHELVED = delete(shelved).where(shelved.c.server_id == bindparam("server"))
_NOT_SUSPENDED = delete(suspended).where(suspended.c.server_id == bindparam("server"))
_PLACE = update(servers).where(servers.c.id == bindparam("server"))
_PLACE = _PLACE.values(status=bindparam("new_status"), service_host=bindparam("new_host"))


def suspend(connection: Connection, server_id: str, now: datetime, done_at: datetime) -> None:
    """Suspend a server by `done_at`; raises CloudTransientError for one that is not ACTIVE, or is being moved."""
    row = _running(connection, server_id, now, "suspend")
    if row is None:
        return
    # A call that breaks off half-way must not keep the next one from doing it.
    connection.execute(_NOT_SUSPENDED, {"server": server_id})
    connection.execute(insert(suspended), {"server_id": server_id, "done_at": done_at})
    connection.execute(_PLACE, {"server": server_id, "new_status": SUSPENDED, "new_host": row["service_host"]})


def shelve(connection: Connection, server_id: str, now: datetime, done_at: datetime) -> None:
    """Shelve a server by `done_at`; raises CloudTransientError for one that is not ACTIVE, or is being moved."""
    row = _running(connection, server_id, now, "shelve")
    if row is None:
        return
    used = connection.execute(USAGES, {"server": server_id}).mappings().all()
    amounts = {each["resource_class"]: each["amount"] for each in used}
    # As above.
    connection.execute(_NOT_SHELVED, {"server": server_id})
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


def _running(connection: Connection, server_id: str, now: datetime, verb: str) -> RowMapping | None:
    """Return the row of a server that is to stop; None if it is gone."""
    row = _find(connection, server_id, now)
    if row is not None and (row["moving"] or row["status"] != "ACTIVE"):
        state = "on its way to another host" if row["moving"] else row["status"]
        raise CloudTransientError(f"sandbox servers.{verb}: server {server_id} is {state}")
    return row


def _find(connection: Connection, server_id: str, now: datetime) -> RowMapping | None:
    return connection.execute(ROW, {"server": server_id, "now": now}).mappings().first()
