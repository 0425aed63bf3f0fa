"""Boots of the sandbox in the steps in which Nova takes them, for what happens between two of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import update

from leasehold.cloud.sandbox import tables
from leasehold.cloud.sandbox.boots import choose_host, store
from leasehold.cloud.sandbox.hosts import read_providers
from leasehold.cloud.sandbox.port import SCHEDULER, locked
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.cloud.sandbox.boots import Boot, BootOrder
    from leasehold.cloud.sandbox.servers import SandboxServers

BUILDING = "BUILD"


def begin_boot(servers: SandboxServers, order: BootOrder) -> Boot:
    """Choose a host, as Nova's scheduler does before it claims anything; raises CloudPermanentError like `boot`."""
    with reading(servers.engine) as connection:
        return choose_host(connection, order, servers.options_now(connection), servers.clock())


def claim_boot(servers: SandboxServers, boot: Boot) -> Boot:
    """Claim what the boot needs: its server is there, on no host yet; in ERROR if the room is gone."""
    with locked(servers.engine, SCHEDULER) as connection:
        if boot.fault is None and not _has_room(connection, boot, servers.clock()):
            server = replace(boot.server, service_host=None, status="ERROR")
            boot = replace(boot, server=server, providers={}, fault="The host that was chosen has no room any more.")
        store(connection, boot)
        if boot.fault is None:
            of_boot = update(tables.servers).where(tables.servers.c.id == boot.server.id)
            connection.execute(of_boot.values(service_host=None, status=BUILDING))
    return boot


def land_boot(servers: SandboxServers, boot: Boot) -> None:
    """Let the boot arrive on the host that was chosen, unless its server was deleted or has failed."""
    if boot.fault is None:
        building = (tables.servers.c.id == boot.server.id, tables.servers.c.status == BUILDING)
        landed = update(tables.servers).where(*building).values(service_host=boot.server.service_host, status="ACTIVE")
        with writing(servers.engine) as connection:
            connection.execute(landed)


def _has_room(connection: Connection, boot: Boot, now: datetime) -> bool:
    """Return whether each provider still has what the boot needs of it, whoever may use its host.

    Placement grants it on a disabled host too: only the scheduler minds that.
    """
    parts = read_providers(connection, boot.amounts.keys(), now, with_traits=False)
    sources = boot.providers.items()
    return all(number in parts and parts[number].fits(name, boot.amounts[name]) for name, number in sources)
