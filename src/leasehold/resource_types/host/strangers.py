"""Find leftover servers: servers without a lease on enrolled hosts that are in no host reservation.

Such hosts are in the free pool, carry slots, or are about to be leased. Two kinds of servers are allowed on them:
preemptible ones, which are deleted when a lease starts, and those of slots whose reservation is not over. Shared hosts
are not looked at: they serve everybody.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.model.finding import Finding, FindingKind
from leasehold.model.resource import HOST
from leasehold.resource_types.slots.aggregates import of_hosts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from leasehold.cloud.ports import Server
    from leasehold.resource_types.look import Look

AHEAD = timedelta(hours=1)
"""How long before its start a lease of the whole host is mentioned in the finding."""
_REMEDY = (
    "The lease starts when they are gone. Servers that certainly belonged to a lease that is over are deleted at the "
    "start; ask the owners of the others, and move or delete them."
)
_REMEDY_ELSEWHERE = (
    "They use capacity that may be allocated to leases. Servers that certainly belonged to a lease that is over are "
    "deleted when the next lease starts here; ask the owners of the others, and move or delete them."
)


def audit_strangers(look: Look) -> Iterator[Finding]:
    """Yield the enrolled hosts that are in no host reservation and have servers without a lease.

    One call lists the servers of all these hosts.
    """
    arrived = {host for each in of_hosts(look) for host in each.hosts}
    enrolled = [host for host in look.records.enrolled(HOST) if host.pooled]
    names = {host.attributes["service_name"] for host in enrolled} - arrived
    found = _nobodys(look, names) if names else {}
    suspects = [host for host in enrolled if host.attributes["service_name"] in found]
    whole = look.records.whole([host.number for host in suspects], AHEAD)
    for host in suspects:
        servers = ", ".join(
            f"{each.id} of project {each.project_id}" for each in found[host.attributes["service_name"]]
        )
        promised = host.number in whole
        to_a_lease = "is allocated to a lease as a whole, and " if promised else ""
        what = f"Host {host.label} {to_a_lease}has servers without a lease: {servers}."
        yield Finding(FindingKind.PLACE, f"servers on {host.id}", what, _REMEDY if promised else _REMEDY_ELSEWHERE)


def _nobodys(look: Look, names: Collection[str]) -> Mapping[str, list[Server]]:
    """Return, by service host, the servers that are not preemptible and belong to no current slot reservation."""
    there = [each for each in look.cloud.servers.on_hosts(names) if not each.preemptible]
    current = look.records.current({server.flavor_id for server in there})
    found: dict[str, list[Server]] = defaultdict(list)
    for server in there:
        if server.service_host and server.flavor_id not in current:
            found[server.service_host].append(server)
    return found
