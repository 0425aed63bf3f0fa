"""Move hosts between the free pool and the aggregate of a reservation, and remove the servers of a lease that is over.

A host is never in neither of the two: it would be open to servers of any project.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, StrangersError
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.attempts import do_all, for_each
from leasehold.resource_types.end_actions.awaiting import NOTHING_AWAITED, Awaited
from leasehold.resource_types.end_actions.chain import chain_of
from leasehold.resource_types.host.emptying import await_end, is_unused, prove_empty
from leasehold.resource_types.outliving import closed, say_living
from leasehold.resource_types.slots.hosts import members_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leasehold.cloud.ports import Aggregate, Cloud, Server
    from leasehold.resource_types.driver import Convergence, Holding
    from leasehold.resource_types.host.kind import HostRequest


def on_the_way(cloud: Cloud, job: Convergence[HostRequest], aggregate: Aggregate) -> frozenset[str]:
    """Return the members that may not have been moved completely: an earlier attempt may have failed at any call.

    Until the start has succeeded, these are all members; later, those that are still in the free pool.
    """
    if job.reservation.status is ReservationStatus.PENDING or not aggregate.hosts:
        return aggregate.hosts
    return members_of(cloud, job.settings.freepool)


def leave(cloud: Cloud, job: Convergence[HostRequest], host: str) -> None:
    """Take a host out of the reservation, unless it is a vacated host with servers, or with some on their way to it."""
    if host not in names_of(job.left):
        _vacate(cloud, job, host)
    elif not cloud.servers.on_host(host):
        give_up(cloud, job, host)


def occupy(cloud: Cloud, job: Convergence[HostRequest], host: str, members: Collection[str]) -> None:
    """Move a host from the free pool into the aggregate.

    It is added to the reservation's aggregate first: a host in no pool would accept servers of any project (contract
    nova-filter §3, row 9), and one in two pools accepts no preemptible server (row 7). So the claim is released before
    the host leaves the free pool: an attempt that breaks off leaves a host that is still on the way (`on_the_way`).
    """
    there, claims = _sweep_preemptible(cloud, host), job.settings.expect_preemptibles
    provider = provider_of(job, host)
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


def _add(cloud: Cloud, job: Convergence[HostRequest], host: str, claimed: str | None) -> None:
    """Add a host to the aggregate; a refusal releases the claim, because the lease may get another host instead."""
    try:
        cloud.aggregates.add_host(job.name, host)
    except CloudPermanentError:
        if claimed is not None:
            cloud.providers.release_claims(claimed)
        raise


def _refuse_strangers(job: Convergence[HostRequest], host: str, servers: Sequence[Server]) -> None:
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


def _vacate(cloud: Cloud, job: Convergence[HostRequest], host: str, awaited: Awaited = NOTHING_AWAITED) -> None:
    """Delete the reservation's servers on a host, then move it back to the free pool.

    A host that was never allocated to the reservation was added by hand: its servers are not the reservation's, and the
    audit decides whether it belongs in the free pool. What is `awaited` stays, and so does its host.
    """
    if host not in names_of(job.all_holdings):
        expel(cloud, job, host)
        return
    provider = provider_of(job, host)
    consumers = cloud.providers.claim_rest(provider)
    _remove_servers(cloud, job, host, cloud.servers.on_host(host), awaited)
    if consumers:
        await_end(cloud, host, provider, consumers, lambda each: job.kept_until is None and not awaited.spares(each))
    give_back(cloud, job, host)
    cloud.providers.release_claims(provider)


def give_up(cloud: Cloud, job: Convergence[HostRequest], host: str) -> bool:
    """Give a host without servers back, unless a boot is on its way to it; return whether it is in the free pool.

    It is claimed meanwhile. If a call fails, the claim stays until `converge` or the next attempt releases it.
    """
    provider = provider_of(job, host)
    unused = is_unused(cloud, host, provider)
    if unused:
        give_back(cloud, job, host)
    cloud.providers.release_claims(provider)
    return unused


def give_back(cloud: Cloud, job: Convergence[HostRequest], host: str) -> None:
    """Move an empty host from the aggregate into the free pool; it is never in neither, open to any project."""
    cloud.aggregates.add_host(job.settings.freepool, host)
    cloud.aggregates.remove_host(job.name, host)


def expel(cloud: Cloud, job: Convergence[HostRequest], host: str) -> None:
    """Take a foreign host out of the aggregate; raises CloudPermanentError while it has servers."""
    if cloud.servers.on_host(host):
        message = (
            f"host {host} was put into aggregate {job.name} by hand, and servers run on it: "
            "move them away, or take the host out"
        )
        raise CloudPermanentError(message)
    cloud.aggregates.remove_host(job.name, host)


def _remove_servers(
    cloud: Cloud,
    job: Convergence[HostRequest],
    host: str,
    servers: Sequence[Server],
    awaited: Awaited = NOTHING_AWAITED,
) -> None:
    """Delete servers but what is `awaited`; none while servers live on. Raises CloudTransientError while any stays."""
    for server in servers:
        if not awaited.spares(server) and job.kept_until is None:
            cloud.servers.delete(server.id)
    left = cloud.servers.on_host(host) if servers else ()
    if left:
        message = f"{len(left)} servers on {host} are still being removed"
        raise CloudTransientError(message)


def dissolve(cloud: Cloud, job: Convergence[HostRequest]) -> Mapping[str, Any]:
    """Give all hosts of a reservation back and delete its aggregate; return the facts of its end actions.

    Raises CloudTransientError until that is done.
    """
    aggregate = cloud.aggregates.get(job.name)
    hosts, vacated = names_of(job.all_holdings), aggregate.hosts if aggregate else frozenset[str]()
    chain = chain_of(job.request.before_end, job.settings)
    if aggregate is not None and chain:
        cloud.aggregates.ensure(job.name, aggregate.zone, closed(job))
    # The servers on a host that was put into the aggregate by hand are not the reservation's.
    awaited = chain.awaited(cloud, job, servers_on(cloud, vacated & hosts)) if chain else NOTHING_AWAITED
    living = {} if aggregate is None else _living(cloud, job, aggregate.hosts)
    steps = [partial(_vacate, cloud, job, host, awaited) for host in sorted(vacated - living.keys())]
    do_all([awaited.say, partial(say_living, job, sum(living.values()), awaited.facts), *steps])
    cloud.aggregates.delete(job.name)
    for_each(hosts - vacated, partial(unclaim, cloud, job))
    # A boot that passed the scheduler before the claim and is slower than all of this may still land. The host is not
    # released yet, so every server on it that is not preemptible belongs to this reservation.
    for_each(hosts, lambda host: _remove_servers(cloud, job, host, _not_preemptible(cloud, host)))
    return awaited.facts


def provider_of(job: Convergence[HostRequest], host: str) -> str:
    """Return the provider of a host that the reservation has or had."""
    return next(
        str(held.resource.attributes["hypervisor_hostname"])
        for held in job.all_holdings
        if held.resource.attributes["service_name"] == host
    )


def unclaim(cloud: Cloud, job: Convergence[HostRequest], host: str) -> None:
    """Release a claim that an attempt left when it broke off after it had moved the host, or before."""
    cloud.providers.release_claims(provider_of(job, host))


def returned(job: Convergence[HostRequest]) -> set[str]:
    """Return the hosts that were lent and are back: an attempt to leave one may have claimed it."""
    lent = {each.resource_number for each in job.reservation.allocations if each.lent}
    return names_of([held for held in job.holdings if held.resource.number in lent])


def _living(cloud: Cloud, job: Convergence[HostRequest], members: Collection[str]) -> Mapping[str, int]:
    """Return the number of servers that live on after the end, by host; the aggregate is closed to new ones first."""
    if job.kept_until is None:
        return {}
    cloud.aggregates.ensure(job.name, f"{job.settings.zone_prefix}{job.name}", closed(job))
    ours = sorted(names_of(job.all_holdings).intersection(members))
    return {host: number for host in ours if (number := len(cloud.servers.on_host(host)))}


def names_of(holdings: Sequence[Holding]) -> set[str]:
    """Return the service hosts of the holdings, by which aggregates name hosts."""
    return {holding.resource.attributes["service_name"] for holding in holdings}


def servers_on(cloud: Cloud, hosts: Iterable[str]) -> list[Server]:
    """Return the servers on these hosts, of every project."""
    return [server for host in sorted(hosts) for server in cloud.servers.on_host(host)]


def _not_preemptible(cloud: Cloud, host: str) -> list[Server]:
    return [server for server in cloud.servers.on_host(host) if not server.preemptible]
