"""Check that each enrolled host is in the right aggregate, and each host in our aggregates is enrolled (design §5).

A host is in the free pool or in the aggregate of the host reservation that has it; a shared one is in neither, and
nothing that a draw has done stays. Differences that the task of a lease
repairs are not checked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.finding import REPAIR, Finding, FindingKind, Mend
from leasehold.model.membership import Membership
from leasehold.model.resource import HOST, Health
from leasehold.resource_types.host.enrolment import DRAWS, SLEEPS, TASK
from leasehold.resource_types.slots.aggregates import of_hosts
from leasehold.resource_types.slots.names import child_provider

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from leasehold.model.resource import Resource
    from leasehold.resource_types.look import Look
    from leasehold.resource_types.records import Enrolments

_MOVES = {Membership.DRAWING: "being drawn", Membership.GIVING_BACK: "being given back"}
_UNKNOWN = "Enrol the host, or take it out by hand: it was never enrolled in this database."
_GONE = "The cloud does not know its hypervisor: restore the hypervisor, or take the host out of service."


@dataclass(frozen=True, slots=True)
class _Cloud:
    """The hosts in the cloud.

    Members of the free pool, reservations by service host, providers, hypervisors, the service hosts that a draw or a
    sleep has disabled, and the hypervisors whose providers we have claimed.
    """

    pool: frozenset[str]
    leased: Mapping[str, Collection[str]]
    providers: frozenset[str]
    hypervisors: frozenset[str]
    drawn: frozenset[str]
    claimed: frozenset[str]

    def left_disabled(self, host: Resource) -> list[str]:
        """Say whether a draw or a sleep that is over has left the compute service disabled."""
        left = not _may_be_closed(host) and host.attributes["service_name"] in self.drawn
        return ["is still disabled for a draw or a sleep that is over"] if left else []

    def wrong(self, host: Resource) -> list[str]:
        """Return what is wrong with a host that no lease has, each as a part of a sentence."""
        name, provider = host.attributes["service_name"], child_provider(host.label)
        said = [] if provider in self.providers else [f"has no provider {provider}"]
        said += self.left_disabled(host)
        if not _may_be_closed(host):
            said += ["is still claimed at Placement, although nobody empties it"] if host.label in self.claimed else []
        if host.pooled and name not in self.pool and name not in self.leased:
            said.insert(0, "is in no aggregate of ours, so that servers of any project may land on it")
        if host.membership is Membership.SHARED and name in self.pool:
            said.insert(0, "is shared and in the free pool, so that nothing new lands on it")
        return said


def _may_be_closed(host: Resource) -> bool:
    """Say whether a host may be disabled and claimed by us; one that failed in its sleep is until it is up."""
    return host.membership.moves or host.readiness is not None or host.health is Health.FAILED


def audit_membership(look: Look) -> Iterator[Finding]:
    """Yield enrolled hosts in no aggregate or in several, hosts that share a service, and hosts not enrolled.

    The cloud is read before the database; the second look discards hosts that were enrolled or removed meanwhile.
    """
    cloud = _see(look)
    db = look.records.enrolments(HOST, TASK)
    for host in db.enrolled:
        if host.id not in db.busy and host.expected_at is None:
            yield from _enrolled(host, cloud, db)
    yield from _shared(db.enrolled)
    yield from _strangers(look.settings.freepool, cloud, db)


def _see(look: Look) -> _Cloud:
    leased: dict[str, list[str]] = {}
    for aggregate in of_hosts(look):
        for host in aggregate.hosts:
            leased.setdefault(host, []).append(aggregate.name)
    pool = look.observation.aggregates.get(look.settings.freepool)
    # Hypervisor numbers repeat from cell to cell; hostnames do not.
    there = {each.hypervisor_hostname: each for each in look.cloud.hypervisors.list()}
    enrolled = {host.label for host in look.records.enrolled(HOST)} & there.keys()
    return _Cloud(
        pool.hosts if pool else frozenset(),
        leased,
        look.observation.providers,
        frozenset(there),
        frozenset(each.service_host for each in there.values() if each.disabled_reason in (DRAWS, SLEEPS)),
        look.cloud.providers.claimed(enrolled),
    )


def _finding(subject: str, what: str, remedy: str, mend: Mend | None = None) -> Finding:
    return Finding(FindingKind.PLACE, subject, what, remedy, mend, HOST)


def _enrolled(host: Resource, cloud: _Cloud, db: Enrolments) -> Iterator[Finding]:
    several = sorted(cloud.leased.get(host.attributes["service_name"], ()))
    if len(several) > 1:
        what = f"Host {host.label} is in the aggregates of several reservations: {', '.join(several)}."
        yield _finding(host.id, what, "Take it out of those that do not hold it; its lease does the rest.")
        return
    # The task of a lease that has the host puts it back, and may have claimed it.
    wrong = cloud.left_disabled(host) if host.number in db.whole else cloud.wrong(host)
    if host.membership.moves and host.id in db.idle:
        wrong.append(f"is {_MOVES[host.membership]}, and nobody works on it")
    if wrong:
        known = host.label in cloud.hypervisors and host.label in cloud.providers
        what = f"Host {host.label} is enrolled, but it {' and '.join(wrong)}."
        yield _finding(host.id, what, REPAIR if known else _GONE, Mend.RESOURCE if known else None)


def _shared(enrolled: Sequence[Resource]) -> Iterator[Finding]:
    """Yield the hosts that can only be leased together, because one compute service has several of them."""
    behind: dict[str, list[Resource]] = {}
    for host in enrolled:
        behind.setdefault(host.attributes["service_name"], []).append(host)
    for service_host, hosts in sorted(behind.items()):
        if len(hosts) > 1:
            names = ", ".join(host.label for host in hosts)
            what = f"The hosts {names} are behind one compute service, {service_host}: a lease of one gets all of them."
            yield _finding(service_host, what, "Remove all but one, or give each a nova-compute of its own.")


def _strangers(pool: str, cloud: _Cloud, db: Enrolments) -> Iterator[Finding]:
    names = {host.attributes["service_name"] for host in db.enrolled}
    labels = {host.label for host in db.enrolled}
    mark = child_provider("")
    for name in sorted(cloud.pool - names):
        yield from _stranger("service_name", name, f"is in the free pool {pool}", db)
    for provider in sorted(each for each in cloud.providers if each.startswith(mark)):
        label = provider.removeprefix(mark)
        if label not in labels:
            yield from _stranger("hypervisor_hostname", label, f"has the provider {provider}", db)


def _stranger(key: str, name: str, has: str, db: Enrolments) -> Iterator[Finding]:
    what = f"Host {name} is not enrolled, but it {has}."
    ident = next((ident for ident, values in db.removed.items() if values[key] == name), None)
    if ident is None:
        yield _finding(name, what, _UNKNOWN)
    elif ident not in db.busy:
        yield _finding(ident, what, REPAIR, Mend.RESOURCE)
