"""Boots of the sandbox in the steps in which Nova takes them, for what happens between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cloud.sandbox import boots
from leasehold.cloud.sandbox.port import SCHEDULER, locked
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from leasehold.cloud.sandbox.boots import Boot, BootOrder
    from leasehold.cloud.sandbox.servers import SandboxServers


def begin_boot(servers: SandboxServers, order: BootOrder) -> Boot:
    """Choose a host, as Nova's scheduler does before it claims anything; raises CloudPermanentError like `boot`."""
    with reading(servers.engine) as connection:
        return boots.choose_host(connection, order, servers.options_now(connection), servers.clock())


def claim_boot(servers: SandboxServers, boot: Boot) -> Boot:
    """Claim what the boot needs: its server is there, on no host yet; in ERROR if the room is gone."""
    with locked(servers.engine, SCHEDULER) as connection:
        return boots.claim(connection, boot, servers.clock())


def land_boot(servers: SandboxServers, boot: Boot) -> None:
    """Let the boot arrive on the host that was chosen."""
    with writing(servers.engine) as connection:
        boots.land(connection, boot)
