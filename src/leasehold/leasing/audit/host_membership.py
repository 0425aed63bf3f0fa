"""Check that each enrolled host is in the right aggregate, and each host in our aggregates is enrolled (design §5).

A host is in the free pool or in the aggregate of the host reservation that has it. Differences that the task of a lease
repairs are not checked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.db.allocation import unreleased_on
from leasehold.db.audit import removed_hosts, work_for
from leasehold.db.resource import list_resources
from leasehold.leasing.audit.finding import REPAIR, Finding, Kind, Mend
from leasehold.leasing.audit.leftovers import is_of_hosts
from leasehold.leasing.host import HOST_TASK
from leasehold.model.resource import HOST
from leasehold.resource_types.slots.names import child_provider

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from leasehold.cloud.observing import Observation
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource

_UNKNOWN = "Enrol the host, or take it out by hand: it was never enrolled in this database."
_GONE = "The cloud does not know its hypervisor: restore the hypervisor, or take the host out of service."


@dataclass(frozen=True, slots=True)
class _Cloud:
    """The hosts in the cloud: members of the free pool, reservations by service host, providers, and hypervisors."""

    pool: frozenset[str]
    leased: Mapping[str, Collection[str]]
    providers: frozenset[str]
    hypervisors: frozenset[str]

    def lacks(self, host: Resource) -> list[str]:
        name, provider = host.attributes["service_name"], child_provider(host.label)
        placed = name in self.pool or name in self.leased
        return [
            *([] if placed else ["is in no aggregate of ours, so that servers of any project may land on it"]),
            *([] if provider in self.providers else [f"has no provider {provider}"]),
        ]


@dataclass(frozen=True, slots=True)
class _Database:
    """The hosts in the database: the enrolled and the removed ones, those with work in progress, and those leased."""

    enrolled: list[Resource]
    removed: Mapping[str, Mapping[str, Any]]
    busy: frozenset[str]
    held: frozenset[int]


def audit_host_membership(service: Service, observation: Observation) -> Iterator[Finding]:
    """Yield enrolled hosts in no aggregate or in several, hosts that share a service, and hosts not enrolled."""
    cloud = _see(service, observation)
    db = _read(service)
    for host in db.enrolled:
        if host.id not in db.busy:
            yield from _enrolled(host, cloud, db)
    yield from _shared(db.enrolled)
    yield from _strangers(service.settings.cloud.freepool, cloud, db)


def _see(service: Service, observation: Observation) -> _Cloud:
    leased: dict[str, list[str]] = {}
    for aggregate in observation.aggregates.values():
        if is_of_hosts(service, aggregate):
            for host in aggregate.hosts:
                leased.setdefault(host, []).append(aggregate.name)
    pool = observation.aggregates.get(service.settings.cloud.freepool)
    # Hypervisor numbers repeat from cell to cell; hostnames do not.
    hypervisors = frozenset(hypervisor.hypervisor_hostname for hypervisor in service.cloud.hypervisors.list())
    return _Cloud(pool.hosts if pool else frozenset(), leased, observation.providers, hypervisors)


def _read(service: Service) -> _Database:
    """Read the database, after the cloud; the second look discards hosts that were enrolled or removed meanwhile."""
    now = service.now()
    with service.db.reading() as connection:
        enrolled = list_resources(connection, HOST)
        tasks = work_for(connection, HOST_TASK)
        held = unreleased_on(connection, [host.number for host in enrolled], now) if enrolled else []
        return _Database(
            enrolled,
            removed_hosts(connection),
            frozenset(subject for subject, works in tasks.items() if any(work.busy(now) for work in works)),
            frozenset(each.resource_number for each in held if each.demand is None),
        )


def _enrolled(host: Resource, cloud: _Cloud, db: _Database) -> Iterator[Finding]:
    several = sorted(cloud.leased.get(host.attributes["service_name"], ()))
    if len(several) > 1:
        what = f"Host {host.label} is in the aggregates of several reservations: {', '.join(several)}."
        yield Finding(Kind.PLACE, host.id, what, "Take it out of those that do not hold it; its lease does the rest.")
        return
    # The task of a lease that has the host puts it back.
    lacking = [] if host.number in db.held else cloud.lacks(host)
    if lacking:
        known = host.label in cloud.hypervisors and host.label in cloud.providers
        what = f"Host {host.label} is enrolled, but it {' and '.join(lacking)}."
        yield Finding(Kind.PLACE, host.id, what, REPAIR if known else _GONE, Mend.HOST if known else None)


def _shared(enrolled: list[Resource]) -> Iterator[Finding]:
    """Yield the hosts that can only be leased together, because one compute service has several of them."""
    behind: dict[str, list[Resource]] = {}
    for host in enrolled:
        behind.setdefault(host.attributes["service_name"], []).append(host)
    for service_host, hosts in sorted(behind.items()):
        if len(hosts) > 1:
            names = ", ".join(host.label for host in hosts)
            what = f"The hosts {names} are behind one compute service, {service_host}: a lease of one gets all of them."
            yield Finding(Kind.PLACE, service_host, what, "Remove all but one, or give each a nova-compute of its own.")


def _strangers(pool: str, cloud: _Cloud, db: _Database) -> Iterator[Finding]:
    names = {host.attributes["service_name"] for host in db.enrolled}
    labels = {host.label for host in db.enrolled}
    mark = child_provider("")
    for name in sorted(cloud.pool - names):
        yield from _stranger("service_name", name, f"is in the free pool {pool}", db)
    for provider in sorted(each for each in cloud.providers if each.startswith(mark)):
        label = provider.removeprefix(mark)
        if label not in labels:
            yield from _stranger("hypervisor_hostname", label, f"has the provider {provider}", db)


def _stranger(key: str, name: str, has: str, db: _Database) -> Iterator[Finding]:
    what = f"Host {name} is not enrolled, but it {has}."
    ident = next((ident for ident, values in db.removed.items() if values[key] == name), None)
    if ident is None:
        yield Finding(Kind.PLACE, name, what, _UNKNOWN)
    elif ident not in db.busy:
        yield Finding(Kind.PLACE, ident, what, REPAIR, Mend.HOST)
