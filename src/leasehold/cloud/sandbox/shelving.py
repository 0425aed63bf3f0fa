"""How a server of the sandbox is shelved, leaves its host, and comes back through the scheduler, as in Nova.

A server that is SHELVED keeps its place until it is offloaded. Its row has that status from the request on: until
`done_at` of its row in `shelved` it is shown as SHELVING.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, update

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from leasehold.cloud.sandbox.boots import FORGET_PLACE, ROW, USAGES, hosts_for, use, wants
from leasehold.cloud.sandbox.images import forget_shelved, keep_shelved
from leasehold.cloud.sandbox.scheduler import choose
from leasehold.cloud.sandbox.tables import servers, shelved

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

    from leasehold_nova.decision import FilterOptions

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


def unshelve(connection: Connection, server_id: str, options: FilterOptions, now: datetime) -> None:
    """Bring an offloaded server back, on a host of the scheduler's choice, as a user of its project.

    Raises CloudTransientError for one that is not offloaded, CloudPermanentError if there is no host for it.
    """
    call, row = "sandbox servers.unshelve", _find(connection, server_id, now)
    kept = connection.execute(_SHELVED, {"server": server_id}).mappings().first()
    if row is None or kept is None or row["status"] != OFFLOADED:
        raise CloudTransientError(f"{call}: server {server_id} is not offloaded")
    needs, request = wants(connection, row, kept["amounts"])
    choice = choose(request, needs, *hosts_for(connection, needs, now), options)
    if choice.service_host is None:
        raise CloudPermanentError(f"{call}: server {server_id} has no host: {choice.reason}")
    use(connection, server_id, needs.amounts, choice.providers)
    connection.execute(_FORGET, {"server": server_id})
    connection.execute(_PLACE, {"server": server_id, "new_status": "ACTIVE", "new_host": choice.service_host})
    forget_shelved(connection, server_id, now, row["project_id"])


def _find(connection: Connection, server_id: str, now: datetime) -> RowMapping | None:
    return connection.execute(ROW, {"server": server_id, "now": now}).mappings().first()
