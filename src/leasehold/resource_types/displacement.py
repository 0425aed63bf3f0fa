"""Preemptible servers on hosts whose leases start soon: who will be ended, and how no others come (feature K1)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.slots.names import RESERVATION_KEY
from leasehold.resource_types.slots.room import affected, lacking_on
from leasehold.resource_types.strategy import servers_to_end

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.model.placing.displacement import EvictionStrategy
    from leasehold.resource_types.driver import HostName

log = logging.getLogger(__name__)

CLOSING = "leasehold_starting"
"""The aggregate of the hosts whose leases start soon. No lease and no pool has this name; the scheduler's filter sends
preemptible servers to no host of an aggregate with a reservation in its metadata."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a reservation needs of its hosts from a moment on: amounts by resource class, or None for all of a host."""

    since: datetime
    hosts: Mapping[HostName, Mapping[str, int] | None]


@dataclass
class Displaced:
    """The servers that will be ended, with when; `unknown` are service hosts that could not be looked at."""

    servers: dict[str, tuple[Server, datetime]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


def displaced_by(cloud: Cloud, needs: Sequence[Need], strategy: EvictionStrategy) -> Displaced:
    """Return the preemptible servers that will be ended if nothing changes until these reservations start."""
    found = Displaced()
    ordered = sorted(needs, key=lambda need: need.since)
    for host in sorted({host for need in ordered for host in need.hosts}):
        mine = [(need.since, need.hosts[host]) for need in ordered if host in need.hosts]
        try:
            found.servers |= _displaced_on(cloud, host, mine, strategy)
        except CloudError as error:
            log.warning("Who has to leave %s is not known: %s", host.hypervisor_hostname, error)
            found.unknown.add(host.service_host)
    return found


def _displaced_on(
    cloud: Cloud, host: HostName, needs: Sequence[tuple[datetime, Mapping[str, int] | None]], strategy: EvictionStrategy
) -> dict[str, tuple[Server, datetime]]:
    """Return the servers of one host that will be ended, with when; `needs` are sorted by time."""
    there = {server.id: server for server in cloud.servers.on_host(host.service_host) if server.preemptible}
    found: dict[str, tuple[Server, datetime]] = {}
    lacking: Counter[str] | None = None
    for since, amounts in needs if there else ():
        ending = list(there)
        if amounts is not None:
            if lacking is None:
                lacking = lacking_on(cloud, host.hypervisor_hostname)
            lacking.update(amounts)
            chosen = servers_to_end(strategy, affected(cloud, there.values()), lacking)
            for each in chosen:
                lacking.subtract(each.size)
            ending = [each.id for each in chosen]
        found |= {ident: (there.pop(ident), since) for ident in ending}
    return {ident: (server, at) for ident, (server, at) in found.items() if server.status != "DELETING"}


def close_hosts(cloud: Cloud, hosts: Collection[str]) -> None:
    """Let new preemptible servers on no host but those that are not among these service hosts; raises CloudError.

    Servers that are there stay, and whatever else may run there may do so as before.
    """
    aggregate = cloud.aggregates.get(CLOSING)
    if aggregate is None and hosts:
        aggregate = cloud.aggregates.ensure(CLOSING, None, {RESERVATION_KEY: CLOSING})
    members = aggregate.hosts if aggregate else frozenset[str]()
    do_all(
        [
            *(partial(cloud.aggregates.add_host, CLOSING, host) for host in sorted(set(hosts) - members)),
            *(partial(cloud.aggregates.remove_host, CLOSING, host) for host in sorted(members.difference(hosts))),
        ]
    )


def open_all(cloud: Cloud) -> None:
    """Open all hosts to preemptible servers that `close_hosts` has closed; raises CloudError."""
    if cloud.aggregates.get(CLOSING) is not None:
        close_hosts(cloud, ())
        cloud.aggregates.delete(CLOSING)
