"""Late boots: servers that landed on a host after the end of the lease in which they were booted.

A boot that passed the scheduler before the end of a lease may reach the host after it. Such a server is deleted only if
it certainly belonged to that lease (decision 0022).
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.resource_types.records import Records

log = logging.getLogger(__name__)

LONGEST_BOOT = timedelta(hours=1)
"""A server that was requested longer than this before the end of a lease is no late boot: it was moved to the host."""


def delete_late_boots(cloud: Cloud, records: Records, numbers: Mapping[str, int], servers: Sequence[Server]) -> None:
    """Delete the late boots among these servers; `numbers` are the hosts' numbers by service host.

    Raises CloudError.
    """
    suspects: dict[str, list[Server]] = {}
    for server in servers:
        if server.service_host is not None and server.service_host in numbers and not server.preemptible:
            suspects.setdefault(server.service_host, []).append(server)
    late = [each for host, found in suspects.items() for each in landed_late(records, numbers[host], found)]
    for server in late:
        text = "Server %s of project %s landed on %s after the end of the lease that it was booted in, and is deleted"
        log.warning(text, server.id, server.project_id, server.service_host)
        cloud.servers.delete(server.id)


def landed_late(records: Records, number: int, servers: Sequence[Server]) -> list[Server]:
    """Return the servers on a host that certainly belonged to a reservation which is over.

    Such a server has the reservation's flavor. Or it was requested at most LONGEST_BOOT before its project released the
    whole host, and the project has no lease now that was already running then, for which it may have been meant.
    """
    over = records.over({server.flavor_id for server in servers})
    return [each for each in servers if each.flavor_id in over or _of_a_past_hold(records, number, each)]


def _of_a_past_hold(records: Records, number: int, server: Server) -> bool:
    requested = server.created_at
    if requested is None:
        return False
    held = any(
        begin <= requested <= released and released - requested <= LONGEST_BOOT
        for begin, released in records.past_holds(number, server.project_id)
    )
    return held and not records.has_lease_since(server.project_id, requested)
