"""The driver of `physical:host`: moves hosts from the free pool into the reservation's aggregate, and back.

Contract resources §2.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, StrangersError
from leasehold.model.membership import Membership
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.attempts import do_all, for_each
from leasehold.resource_types.driver import Driver, Wanted
from leasehold.resource_types.end_actions import action_of
from leasehold.resource_types.host import drawing
from leasehold.resource_types.host.audit import TASK, audit_membership
from leasehold.resource_types.host.emptying import await_end, prove_empty
from leasehold.resource_types.host.enrolment import (
    SHARED,
    HostDescription,
    attributes_of,
    discover,
    discovered,
    give_provider,
    is_leased,
    place,
    release,
    report_of,
    shared_error,
)
from leasehold.resource_types.host.kind import HostRequest
from leasehold.resource_types.host.strangers import audit_strangers
from leasehold.resource_types.late_boots import delete_late_boots
from leasehold.resource_types.outliving import CLOSED, say_living
from leasehold.resource_types.slots import aggregates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leasehold.cloud.ports import Aggregate, Cloud, Server
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.errors import ConflictError
    from leasehold.model.finding import Finding
    from leasehold.model.resource import Resource
    from leasehold.resource_types.driver import Holding, Job
    from leasehold.resource_types.enrolment import Discovery, Report
    from leasehold.resource_types.look import CloudObject, Look
    from leasehold.resource_types.records import Records


SERVICE_CHANGED = "service.update"
COMPUTE = "nova-compute"


class HostDriver(Driver[HostRequest]):
    """Keeps an aggregate for each reservation, with the hosts that the reservation holds."""

    description = HostDescription
    task = TASK
    movable = True
    shared = SHARED
    swappable = True
    outlives = True

    def discover(self, cloud: Cloud, settings: CloudSettings, description: Mapping[str, Any]) -> Discovery:
        """Find the hypervisor with the exact hostname or id `name`, for the `pool`."""
        return discover(
            cloud, settings, description["name"], Membership(description.get("pool", Membership.RESERVATION))
        )

    def place(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any], *, leased: bool) -> None:
        """Make the host's provider, and put it into the free pool unless a lease has it."""
        give_provider(cloud, attributes)
        if not leased:
            place(cloud, settings, attributes)

    def release(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any], *, alone: bool) -> None:
        """Take the host out of the free pool, and drop its provider."""
        release(cloud, settings, attributes, alone=alone)

    def draw(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> str | None:
        """Close the host to everybody, move its servers away, and put it into the free pool once it is empty."""
        return drawing.draw(cloud, settings, attributes)

    def share(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> None:
        """Take the host out of the free pool, and open it; it keeps its provider while it is enrolled."""
        give_provider(cloud, attributes)
        drawing.share(cloud, settings, attributes)

    def reopen(self, cloud: Cloud, attributes: Mapping[str, Any]) -> None:
        """Drop our claims, and enable the compute service if a draw has disabled it."""
        drawing.reopen(cloud, attributes)

    def attributes_of(self, cloud: Cloud, settings: CloudSettings, ident: str) -> Mapping[str, Any] | None:
        """Return the attributes of the hypervisor with this id."""
        found = cloud.hypervisors.find(ident)
        return None if found is None else attributes_of(found, settings)

    def shared_error(self, found: Discovery, other: str) -> ConflictError:
        """Refuse a second hypervisor behind one compute service."""
        return shared_error(found, other)

    def users(self, cloud: Cloud, attributes: Mapping[str, Any]) -> str | None:
        """Return how many servers there are."""
        servers = cloud.servers.on_host(attributes["service_name"])
        return f"{len(servers)} servers" if servers else None

    def guests(self, cloud: Cloud, resources: Sequence[Resource]) -> Mapping[int, Sequence[Server]]:
        """Return the servers on the hosts; one listing for all of them."""
        there = defaultdict(list)
        for server in cloud.servers.on_hosts({each.attributes["service_name"] for each in resources}):
            there[server.service_host].append(server)
        return {each.number: there[each.attributes["service_name"]] for each in resources}

    def is_leased(self, cloud: Cloud, attributes: Mapping[str, Any], reservation_ids: Collection[str]) -> bool:
        """Return whether the host is in the aggregate of one of these reservations."""
        return is_leased(cloud, attributes, reservation_ids)

    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:  # noqa: ARG002 - the driver's contract
        """Return how the hypervisors are, found by hostname: numbers repeat from cell to cell (resources §7.2)."""
        found = {each.hypervisor_hostname: report_of(each) for each in cloud.hypervisors.list()}
        hostnames = {each.number: each.attributes["hypervisor_hostname"] for each in resources}
        return {number: found[name] for number, name in hostnames.items() if name in found}

    def concerns(self, event_type: str, payload: Mapping[str, Any]) -> bool:
        """Say so of a change of a compute service, or of a service that is not named (contract resources §7.1)."""
        return event_type == SERVICE_CHANGED and _binary(payload) in (None, COMPUTE)

    def discovered(
        self, cloud: Cloud, settings: CloudSettings, resources: Sequence[Resource]
    ) -> Mapping[int, Discovery]:
        """Read capacity, traits, zone and columns of these hosts again."""
        return discovered(cloud, settings, resources)

    def audit(self, look: Look) -> Iterable[Finding]:
        """Yield hosts in the wrong aggregate, and servers without a lease."""
        return (*audit_membership(look), *audit_strangers(look))

    def objects(self, look: Look) -> Iterable[CloudObject]:
        """Yield the aggregates."""
        return map(aggregates.as_object, aggregates.of_hosts(look))

    def in_use(self, look: Look, thing: CloudObject) -> bool:
        """Return whether a host that would leave all our aggregates has servers."""
        return aggregates.is_used(look, thing.key)

    def remove(self, look: Look, thing: CloudObject) -> None:
        """Remove an aggregate, and put its hosts back."""
        aggregates.remove_aggregate(look, thing.key)

    def converge(self, cloud: Cloud, job: Job[HostRequest], wanted: Wanted) -> Mapping[str, Any]:
        """Keep the reservation's aggregate; while it is active, with exactly the hosts that the reservation holds."""
        if wanted is Wanted.ENDED:
            _dissolve(cloud, job)
            return {}
        settings = job.settings
        zone = f"{settings.zone_prefix}{job.name}"
        aggregate = cloud.aggregates.ensure(job.name, zone, {settings.owner_key: job.project_id})
        if wanted is Wanted.ACTIVE:
            hosts = _names(job.holdings)
            arriving = hosts - (aggregate.hosts - _on_the_way(cloud, job, aggregate))
            steps = [partial(_occupy, cloud, job, host, aggregate.hosts) for host in sorted(arriving)]
            steps += [partial(_release, cloud, job, host) for host in sorted(aggregate.hosts - hosts)]
            steps += [partial(_unclaim, cloud, job, host) for host in sorted(_names(job.former) - aggregate.hosts)]
            do_all(steps, patient=False)
        return {"aggregate_id": aggregate.id}

    def make_way(self, cloud: Cloud, job: Job[HostRequest], error: CloudTransientError, records: Records) -> None:
        """Delete late boots among the leftover servers that block the start."""
        if isinstance(error, StrangersError):
            numbers = {held.resource.attributes["service_name"]: held.resource.number for held in job.holdings}
            delete_late_boots(cloud, records, {error.service_host: numbers[error.service_host]}, error.servers)

    def occupied(self, cloud: Cloud, job: Job[HostRequest]) -> frozenset[int]:
        """Return the allocations on vacated hosts that are still in the aggregate, because they have servers."""
        aggregate = cloud.aggregates.get(job.name)
        members = aggregate.hosts if aggregate else frozenset[str]()
        return frozenset(each.allocation_id for each in job.left if each.resource.attributes["service_name"] in members)

    def kept(self, cloud: Cloud, job: Job[HostRequest]) -> frozenset[int]:
        """Return the allocations on hosts that are still in the aggregate."""
        aggregate = cloud.aggregates.get(job.name)
        members = aggregate.hosts if aggregate else frozenset[str]()
        held = job.all_holdings
        return frozenset(each.allocation_id for each in held if each.resource.attributes["service_name"] in members)

    def before_end(self, cloud: Cloud, job: Job[HostRequest]) -> None:
        """Do the end action that the reservation asks for with the servers on its hosts."""
        action = action_of(job.request.before_end, job.settings)
        if action is not None:
            aggregate = cloud.aggregates.get(job.name)
            action.warn(cloud, job, _servers_on(cloud, aggregate.hosts if aggregate else ()))


def _binary(payload: Mapping[str, Any]) -> Any:
    """Return which program the service is; None if the payload does not say, as for one that is not versioned."""
    data = payload.get("nova_object.data")
    return data.get("binary") if isinstance(data, dict) else None


def _on_the_way(cloud: Cloud, job: Job[HostRequest], aggregate: Aggregate) -> frozenset[str]:
    """Return the members that may not have been moved completely: an earlier attempt may have failed at any call.

    Until the start has succeeded, these are all members; later, those that are still in the free pool.
    """
    if job.reservation.status is ReservationStatus.PENDING or not aggregate.hosts:
        return aggregate.hosts
    pool = cloud.aggregates.get(job.settings.freepool)
    return pool.hosts if pool else frozenset()


def _release(cloud: Cloud, job: Job[HostRequest], host: str) -> None:
    """Take a host out of the reservation, unless it is a vacated host with servers."""
    if host not in _names(job.left):
        _vacate(cloud, job, host)
    elif not cloud.servers.on_host(host):
        _give_back(cloud, job, host)


def _occupy(cloud: Cloud, job: Job[HostRequest], host: str, members: Collection[str]) -> None:
    """Move a host from the free pool into the aggregate.

    It is added to the reservation's aggregate first: a host in no pool would accept servers of any project (contract
    nova-filter §3, row 9), and one in two pools accepts no preemptible server (row 7). So the claim is released before
    the host leaves the free pool: an attempt that breaks off leaves a host that is still on the way (`_on_the_way`).
    """
    there, claims = _sweep_preemptible(cloud, host), job.settings.expect_preemptibles
    provider = _provider_of(job, host)
    if host not in members:
        _refuse_strangers(job, host, there)
        if claims:
            prove_empty(cloud, host, provider, lambda server: server.preemptible)
        _add(cloud, job, host, provider if claims else None)
    if claims:
        cloud.providers.release_claims(provider)
    cloud.aggregates.remove_host(job.settings.freepool, host)
    if not claims:
        _sweep_preemptible(cloud, host)


def _add(cloud: Cloud, job: Job[HostRequest], host: str, claimed: str | None) -> None:
    """Add a host to the aggregate; a refusal releases the claim, because the lease may get another host instead."""
    try:
        cloud.aggregates.add_host(job.name, host)
    except CloudPermanentError:
        if claimed is not None:
            cloud.providers.release_claims(claimed)
        raise


def _refuse_strangers(job: Job[HostRequest], host: str, servers: Sequence[Server]) -> None:
    """Raise StrangersError for leftover servers; for an active reservation, its project's servers do not count."""
    running = job.reservation.status is ReservationStatus.ACTIVE
    strangers = [each for each in servers if not (running and each.project_id == job.project_id)]
    if strangers:
        own = sum(each.project_id == job.project_id for each in strangers)
        what = f"{len(strangers)} servers that are not this lease's are still on one of its hosts"
        message = f"{what}: {own} of this project, {len(strangers) - own} of others"
        raise StrangersError(message, host, strangers)


def _sweep_preemptible(cloud: Cloud, host: str) -> list[Server]:
    """Delete the preemptible servers of a host, and return the others."""
    there = cloud.servers.on_host(host)
    for server in there:
        if server.preemptible:
            cloud.servers.delete(server.id)
    return [server for server in there if not server.preemptible]


def _vacate(cloud: Cloud, job: Job[HostRequest], host: str, kept: Collection[str] = ()) -> None:
    """Delete the reservation's servers on a host, then move it back to the free pool.

    A host that was never allocated to the reservation was added by hand: its servers are not the reservation's, and the
    audit decides whether it belongs in the free pool. The servers in `kept` stay, and so does their host.
    """
    if host not in _names(job.all_holdings):
        _expel(cloud, job, host)
        return
    provider = _provider_of(job, host)
    consumers = cloud.providers.claim_rest(provider)
    _remove_servers(cloud, job, host, cloud.servers.on_host(host), kept)
    if consumers:
        await_end(cloud, host, provider, consumers, lambda each: job.kept_until is None and each.id not in kept)
    _give_back(cloud, job, host)
    cloud.providers.release_claims(provider)


def _give_back(cloud: Cloud, job: Job[HostRequest], host: str) -> None:
    """Move an empty host from the aggregate into the free pool; it is never in neither, open to any project."""
    cloud.aggregates.add_host(job.settings.freepool, host)
    cloud.aggregates.remove_host(job.name, host)


def _expel(cloud: Cloud, job: Job[HostRequest], host: str) -> None:
    """Take a foreign host out of the aggregate; raises CloudPermanentError while it has servers."""
    if cloud.servers.on_host(host):
        message = (
            f"host {host} was put into aggregate {job.name} by hand, and servers run on it: "
            "move them away, or take the host out"
        )
        raise CloudPermanentError(message)
    cloud.aggregates.remove_host(job.name, host)


def _remove_servers(
    cloud: Cloud, job: Job[HostRequest], host: str, servers: Sequence[Server], kept: Collection[str] = ()
) -> None:
    """Delete servers but those in `kept`; none while servers live on. Raises CloudTransientError while any stays."""
    for server in servers:
        if server.id not in kept and job.kept_until is None:
            cloud.servers.delete(server.id)
    left = cloud.servers.on_host(host) if servers else ()
    if left:
        message = f"{len(left)} servers on {host} are still being removed"
        raise CloudTransientError(message)


def _dissolve(cloud: Cloud, job: Job[HostRequest]) -> None:
    aggregate = cloud.aggregates.get(job.name)
    hosts, vacated = _names(job.all_holdings), aggregate.hosts if aggregate else frozenset[str]()
    if aggregate is not None:
        action = action_of(job.request.before_end, job.settings)
        servers = [] if action is None else _servers_on(cloud, aggregate.hosts)
        kept = frozenset[str]() if action is None else action.awaited(cloud, job, servers)
        living = _living(cloud, job, aggregate.hosts)
        steps = [partial(_vacate, cloud, job, host, kept) for host in sorted(aggregate.hosts - living.keys())]
        waits = [] if action is None else [partial(action.say_waiting, job, kept)]
        do_all([*waits, partial(say_living, job, sum(living.values())), *steps])
    cloud.aggregates.delete(job.name)
    for_each(hosts - vacated, partial(_unclaim, cloud, job), patient=True)
    # A boot that passed the scheduler before the claim and is slower than all of this may still land. The host is not
    # released yet, so every server on it that is not preemptible belongs to this reservation.
    for_each(hosts, lambda host: _remove_servers(cloud, job, host, _not_preemptible(cloud, host)), patient=True)


def _provider_of(job: Job[HostRequest], host: str) -> str:
    """Return the provider of a host that the reservation has or had."""
    return next(
        str(held.resource.attributes["hypervisor_hostname"])
        for held in job.all_holdings
        if held.resource.attributes["service_name"] == host
    )


def _unclaim(cloud: Cloud, job: Job[HostRequest], host: str) -> None:
    """Release a claim that an attempt left when it broke off after it had moved the host, or before."""
    cloud.providers.release_claims(_provider_of(job, host))


def _living(cloud: Cloud, job: Job[HostRequest], members: Collection[str]) -> Mapping[str, int]:
    """Return the number of servers that live on after the end, by host; the aggregate is closed to new ones first."""
    if job.kept_until is None:
        return {}
    cloud.aggregates.ensure(job.name, f"{job.settings.zone_prefix}{job.name}", {job.settings.owner_key: CLOSED})
    ours = sorted(_names(job.all_holdings).intersection(members))
    return {host: number for host in ours if (number := len(cloud.servers.on_host(host)))}


def _names(holdings: Sequence[Holding]) -> set[str]:
    """Return the service hosts of the holdings, by which aggregates name hosts."""
    return {holding.resource.attributes["service_name"] for holding in holdings}


def _servers_on(cloud: Cloud, hosts: Iterable[str]) -> list[Server]:
    return [server for host in sorted(hosts) for server in cloud.servers.on_host(host)]


def _not_preemptible(cloud: Cloud, host: str) -> list[Server]:
    return [server for server in cloud.servers.on_host(host) if not server.preemptible]
