"""Find leftover servers: servers without a lease on enrolled hosts that are in no host reservation.

Such hosts are in the free pool, carry slots, or are about to be leased. Two kinds of servers are allowed on them:
preemptible ones, which are deleted when a lease starts, and those of slots whose reservation is not over.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.db.allocation import unreleased_on
from leasehold.db.audit import owners
from leasehold.db.resource import list_resources
from leasehold.leasing.audit.finding import Finding, Kind
from leasehold.leasing.audit.leftovers import is_of_hosts
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from leasehold.cloud.observing import Observation
    from leasehold.cloud.ports import Server
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource

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


def audit_strangers(service: Service, observation: Observation) -> Iterator[Finding]:
    """Yield the enrolled hosts that are in no host reservation and have servers without a lease.

    One call lists the servers of all these hosts.
    """
    ours = [each for each in observation.aggregates.values() if is_of_hosts(service, each)]
    arrived = {host for each in ours for host in each.hosts}
    with service.db.reading() as connection:
        enrolled = list_resources(connection, HOST)
    names = {host.attributes["service_name"] for host in enrolled} - arrived
    found = _nobodys(service, names) if names else {}
    suspects = [host for host in enrolled if host.attributes["service_name"] in found]
    whole = _promised(service, suspects)
    for host in suspects:
        servers = ", ".join(
            f"{each.id} of project {each.project_id}" for each in found[host.attributes["service_name"]]
        )
        promised = host.number in whole
        to_a_lease = "is allocated to a lease as a whole, and " if promised else ""
        what = f"Host {host.label} {to_a_lease}has servers without a lease: {servers}."
        yield Finding(Kind.PLACE, f"servers on {host.id}", what, _REMEDY if promised else _REMEDY_ELSEWHERE)


def _promised(service: Service, hosts: Collection[Resource]) -> frozenset[int]:
    """Return the numbers of those of these hosts that are allocated as a whole, now or within AHEAD."""
    if not hosts:
        return frozenset()
    with service.db.reading() as connection:
        held = unreleased_on(connection, [host.number for host in hosts], service.now() + AHEAD)
    return frozenset(each.resource_number for each in held if each.demand is None)


def _nobodys(service: Service, names: Collection[str]) -> Mapping[str, list[Server]]:
    """Return, by service host, the servers that are not preemptible and belong to no current slot reservation."""
    there = [each for each in service.cloud.servers.on_hosts(names) if not each.preemptible]
    with service.db.reading() as connection:
        known = owners(connection, {server.flavor_id for server in there})
    found: dict[str, list[Server]] = defaultdict(list)
    for server in there:
        if server.service_host and (server.flavor_id not in known or known[server.flavor_id].over):
            found[server.service_host].append(server)
    return found
