"""Servers that landed on a host after the lease they were booted in had ended.

A boot that passed the scheduler before the end of a lease may reach the host after it. Such a server is deleted only
where it is certain that it belonged to that lease: no server is deleted on a guess (decision 0022).
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.resource_types.history import History

log = logging.getLogger(__name__)

LONGEST_BOOT = timedelta(hours=1)
"""A server that was requested longer than this before the end of a lease did not land late: somebody moved it here."""


def delete_late_boots(cloud: Cloud, history: History, numbers: Mapping[str, int], servers: Sequence[Server]) -> None:
    """Delete those of these servers that landed late; `numbers` are the hosts' numbers by service host.

    Raises CloudError.
    """
    suspects: dict[str, list[Server]] = {}
    for server in servers:
        if server.service_host is not None and server.service_host in numbers and not server.preemptible:
            suspects.setdefault(server.service_host, []).append(server)
    late = [each for host, found in suspects.items() for each in landed_late(history, numbers[host], found)]
    for server in late:
        text = "Server %s of project %s landed on %s after the end of the lease that it was booted in, and is deleted"
        log.warning(text, server.id, server.project_id, server.service_host)
        cloud.servers.delete(server.id)


def landed_late(history: History, number: int, servers: Sequence[Server]) -> list[Server]:
    """Return the servers on a host that certainly belonged to a reservation which is over.

    Either they have the flavor of one. Or they were requested shortly before their project gave the whole host back at
    the end of a lease, and the project had no other lease then that they can have been meant for.
    """
    over = history.over({server.flavor_id for server in servers})
    return [each for each in servers if each.flavor_id in over or _of_a_past_hold(history, number, each)]


def _of_a_past_hold(history: History, number: int, server: Server) -> bool:
    requested = server.created_at
    if requested is None:
        return False
    held = any(
        begin <= requested <= released and released - requested <= LONGEST_BOOT
        for begin, released in history.past_holds(number, server.project_id)
    )
    return held and not history.has_lease_since(server.project_id, requested)
