"""How hosts with servers leave a reservation that ends: its servers stay, and they serve everybody (decision 0062).

Nova does not let a host with servers leave an availability zone. The aggregate of such a reservation has none; a key of
its metadata tells the scheduler filter that it is a reservation. No server is deleted here, and every call may be
repeated: what is found is stored before the first host is moved, so that another attempt does not take it for empty.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudTransientError
from leasehold.resource_types.attempts import for_each
from leasehold.resource_types.driver import GUESTS, LearnedError
from leasehold.resource_types.end_actions.awaiting import NOTHING_AWAITED, Awaited
from leasehold.resource_types.end_actions.chain import chain_of
from leasehold.resource_types.host.emptying import users_of
from leasehold.resource_types.host.moving import expel, give_back, names_of, provider_of, servers_on, unclaim
from leasehold.resource_types.outliving import closed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.cloud.ports import Aggregate, Cloud
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.host.kind import HostRequest

POOL_KEY = "leasehold:pool"
"""The metadata key by which the scheduler filter knows the aggregate of a reservation that has no zone."""


def ensure_aggregate(cloud: Cloud, job: Convergence[HostRequest]) -> Aggregate:
    """Make the aggregate of a reservation as it is while the reservation lasts, and return it."""
    settings = job.settings
    owner: dict[str, str | None] = {settings.owner_key: job.project_id, **job.lease_mark, **job.marks}
    owner |= {project: "true" if may else None for project, may in job.reservation.shares.items()}
    if not job.reservation.ending.gives_back:
        return cloud.aggregates.ensure(job.name, f"{settings.zone_prefix}{job.name}", owner)
    found = cloud.aggregates.get(job.name)
    if found is not None and found.zone is not None and not found.hosts:
        # It was made before the reservation was to end so, and Nova takes no zone away from an aggregate.
        cloud.aggregates.delete(job.name)
    return cloud.aggregates.ensure(job.name, None, {**owner, POOL_KEY: "true"})


def hand_over(cloud: Cloud, job: Convergence[HostRequest]) -> Mapping[str, Any]:
    """Move all hosts of a reservation into the free pool, with their servers, and delete its aggregate.

    Returns the facts of its end actions.

    Raises LearnedError with the hosts that have servers, before any is moved, and CloudTransientError while an image is
    made, or servers are being suspended, or servers are being removed from a host that has no others.
    """
    aggregate, awaited = cloud.aggregates.get(job.name), NOTHING_AWAITED
    if aggregate is not None:
        cloud.aggregates.ensure(job.name, aggregate.zone, closed(job))
        awaited = _awaited(cloud, job, aggregate)
        awaited.say()
        _store_guests(cloud, job, aggregate)
        for_each(aggregate.hosts, partial(_leave, cloud, job))
    cloud.aggregates.delete(job.name)
    # Last: a boot that passed the scheduler before the aggregate was closed is refused until here.
    for_each(names_of(job.all_holdings), partial(unclaim, cloud, job))
    return awaited.facts


def _awaited(cloud: Cloud, job: Convergence[HostRequest], aggregate: Aggregate) -> Awaited:
    chain = chain_of(job.request.before_end, job.settings)
    return chain.awaited(cloud, job, servers_on(cloud, aggregate.hosts)) if chain else NOTHING_AWAITED


def _store_guests(cloud: Cloud, job: Convergence[HostRequest], aggregate: Aggregate) -> None:
    """Raise LearnedError unless it is stored which hosts have servers; those that were moved are looked at no more."""
    there = {
        held.allocation_id: held.resource.attributes["service_name"]
        for held in job.all_holdings
        if held.resource.attributes["service_name"] in aggregate.hosts
    }
    used: Mapping[str, bool] = {host: _has_guests(cloud, job, host) for host in sorted(set(there.values()))}
    guests = (job.guests - there.keys()) | {ident for ident, host in there.items() if used[host]}
    if guests != job.guests:
        message = f"{sum(used.values())} hosts have servers, and are given back with them"
        raise LearnedError(message, {GUESTS: sorted(guests)})


def _has_guests(cloud: Cloud, job: Convergence[HostRequest], host: str) -> bool:
    """Return whether servers stay on a host, or are on their way to it; what is left of an empty one stays claimed.

    Raises CloudTransientError while all that it has are being removed.
    """
    provider = provider_of(job, host)
    using = users_of(cloud, host, provider)
    stays = any(each.status != "DELETING" for each in using)
    if stays:
        cloud.providers.release_claims(provider)
    elif using:
        message = f"{len(using)} servers on {host} are still being removed"
        raise CloudTransientError(message)
    return stays


def _leave(cloud: Cloud, job: Convergence[HostRequest], host: str) -> None:
    """Move a host into the free pool; one that was put into the aggregate by hand only leaves it."""
    if host not in names_of(job.all_holdings):
        expel(cloud, job, host)
        return
    give_back(cloud, job, host)
