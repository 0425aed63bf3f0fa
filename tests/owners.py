"""What owners do with their servers in the sandbox cloud, as in Nova, and for which Leasehold has no verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from leasehold.cloud.sandbox.boots import ROW, hosts_for, use, wants
from leasehold.cloud.sandbox.faults import database_errors
from leasehold.cloud.sandbox.port import SCHEDULER, locked
from leasehold.cloud.sandbox.scheduler import choose
from leasehold.cloud.sandbox.stopping import OFFLOADED, SUSPENDED
from leasehold.cloud.sandbox.tables import image_owners, servers, shelved, snapshots, suspended
from leasehold.db.engine import writing

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.cloud.ports import Server
    from leasehold.cloud.sandbox.servers import SandboxServers


def resume(of_cloud: SandboxServers, server_id: str) -> Server:
    """Let a suspended server run again; raises CloudTransientError for any other."""
    now = of_cloud.clock()
    with database_errors("servers.resume"), writing(of_cloud.engine) as connection:
        row = connection.execute(ROW, {"server": server_id, "now": now}).mappings().first()
        kept = connection.execute(select(suspended).where(suspended.c.server_id == server_id)).first()
        if row is None or row["status"] != SUSPENDED or (kept is not None and kept.done_at > now):
            raise CloudTransientError(f"sandbox servers.resume: server {server_id} is not suspended")
        connection.execute(delete(suspended).where(suspended.c.server_id == server_id))
        connection.execute(update(servers).where(servers.c.id == server_id).values(status="ACTIVE"))
    return of_cloud.find(server_id)[0]


def unshelve(of_cloud: SandboxServers, server_id: str) -> Server:
    """Bring an offloaded server back, on a host of the scheduler's choice.

    Raises CloudTransientError for one that is not offloaded, CloudPermanentError if there is no host for it.
    """
    call, now = "sandbox servers.unshelve", of_cloud.clock()
    with database_errors("servers.unshelve"), locked(of_cloud.engine, SCHEDULER) as connection:
        row = connection.execute(ROW, {"server": server_id, "now": now}).mappings().first()
        kept = connection.execute(select(shelved).where(shelved.c.server_id == server_id)).first()
        if row is None or kept is None or row["status"] != OFFLOADED:
            raise CloudTransientError(f"{call}: server {server_id} is not offloaded")
        needs, request = wants(connection, row, kept.amounts)
        choice = choose(request, needs, *hosts_for(connection, needs, now), of_cloud.options_now(connection))
        if choice.service_host is None:
            raise CloudPermanentError(f"{call}: server {server_id} has no host: {choice.reason}")
        use(connection, server_id, needs.amounts, choice.providers)
        connection.execute(delete(shelved).where(shelved.c.server_id == server_id))
        back = {"status": "ACTIVE", "service_host": choice.service_host}
        connection.execute(update(servers).where(servers.c.id == server_id).values(back))
        _forget_image(connection, server_id, row["project_id"])
    return of_cloud.find(server_id)[0]


def _forget_image(connection: Connection, server_id: str, project_id: str) -> None:
    """Remove the images as which a server was shelved, if its project may delete them."""
    mine = select(image_owners.c.image_id).where(image_owners.c.project_id == project_id)
    of_shelved = (snapshots.c.server_id == server_id, snapshots.c.reservation_id == "")
    connection.execute(delete(snapshots).where(*of_shelved, snapshots.c.id.in_(mine)))
