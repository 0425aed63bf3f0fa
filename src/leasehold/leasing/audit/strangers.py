"""Servers that are nobody's, on the hosts of leases that are about to start or wait for them.

Where a host is promised as a whole, nothing but that lease's servers may be on it from the start on. Preemptible ones
make room by themselves, and slots are somebody's until their reservation is over.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.books.allocation import unreleased_on
from leasehold.books.audit import owners
from leasehold.books.resource import list_resources
from leasehold.leasing.audit.finding import Finding, Kind
from leasehold.leasing.audit.leftovers import is_of_hosts
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.cloud.observing import Observation
    from leasehold.cloud.ports import Server
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource

AHEAD = timedelta(hours=1)
"""How long before its start a host is looked at."""
_REMEDY = (
    "The lease starts when they are gone. Those that landed after the end of the lease they were booted in go by "
    "themselves at the start, where that is certain; ask the owners of the others, and move or delete them."
)


def audit_strangers(service: Service, observation: Observation) -> Iterator[Finding]:
    """Yield the hosts that are promised as a whole, have not joined a reservation, and carry servers of nobody."""
    ours = [each for each in observation.aggregates.values() if is_of_hosts(service, each)]
    arrived = {host for each in ours for host in each.hosts}
    for host in _promised(service):
        name = host.attributes["service_name"]
        found = [] if name in arrived else _nobodys(service, service.cloud.servers.on_host(name))
        if found:
            servers = ", ".join(f"{each.id} of project {each.project_id}" for each in found)
            what = f"Host {host.label} is promised to a lease as a whole, and carries servers of nobody: {servers}."
            yield Finding(Kind.PLACE, f"servers on {host.id}", what, _REMEDY)


def _promised(service: Service) -> list[Resource]:
    """Return the hosts that are to be a lease's alone, from now on or soon."""
    with service.books.reading() as connection:
        enrolled = list_resources(connection, HOST)
        numbers = [host.number for host in enrolled]
        held = unreleased_on(connection, numbers, service.now() + AHEAD) if numbers else []
    whole = {each.resource_number for each in held if each.demand is None}
    return [host for host in enrolled if host.number in whole]


def _nobodys(service: Service, servers: Sequence[Server]) -> list[Server]:
    found = [server for server in servers if not server.preemptible]
    if not found:
        return []
    with service.books.reading() as connection:
        known = owners(connection, {server.flavor_id for server in found})
    return [each for each in found if each.flavor_id not in known or known[each.flavor_id].over]
