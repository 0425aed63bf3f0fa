"""The driver of `physical:host`: moves hosts from the free pool into the reservation's aggregate, and back.

Contract resources §2.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudTransientError, StrangersError
from leasehold.model.placing.draw import Guest, Room
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.capabilities import (
    Audited,
    Counting,
    GivingBack,
    HoldingServers,
    Lending,
    MakingWay,
    Notified,
    Swappable,
)
from leasehold.resource_types.driver import Driver, ResourceUser, Wanted, users_of
from leasehold.resource_types.end_actions.chain import chain_of
from leasehold.resource_types.host.audit import audit_membership
from leasehold.resource_types.host.drawing import HostDrawing, stays_on_draw
from leasehold.resource_types.host.enrolment import report_of
from leasehold.resource_types.host.giving_back import ensure_aggregate, hand_over
from leasehold.resource_types.host.kind import HostRequest
from leasehold.resource_types.host.moving import (
    dissolve,
    give_up,
    leave,
    names_of,
    occupy,
    on_the_way,
    returned,
    servers_on,
    unclaim,
)
from leasehold.resource_types.host.strangers import audit_strangers
from leasehold.resource_types.late_boots import delete_late_boots
from leasehold.resource_types.slots import aggregates
from leasehold.resource_types.slots.hosts import members_of, on_hosts
from leasehold.resource_types.slots.room import amounts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.finding import Finding
    from leasehold.model.resource import Resource
    from leasehold.resource_types.capabilities import Place
    from leasehold.resource_types.driver import Convergence, Holding, HostName
    from leasehold.resource_types.enrolment import Report
    from leasehold.resource_types.look import CloudObject, Look
    from leasehold.resource_types.records import Records

SERVICE_CHANGED = "service.update"
COMPUTE = "nova-compute"


class HostDriver(
    Driver[HostRequest],
    HoldingServers,
    HostDrawing,
    GivingBack,
    Lending,
    Notified,
    Audited,
    MakingWay,
    Swappable,
    Counting,
):
    """Keeps an aggregate for each reservation, with the hosts that the reservation holds."""

    def guests(self, cloud: Cloud, resources: Sequence[Resource]) -> Mapping[int, Sequence[Server]]:
        """Return the servers on the hosts; one listing for all of them."""
        there = defaultdict(list)
        for server in cloud.servers.on_hosts({each.attributes["service_name"] for each in resources}):
            there[server.service_host].append(server)
        return {each.number: there[each.attributes["service_name"]] for each in resources}

    def sized_guests(
        self, cloud: Cloud, settings: CloudSettings, resources: Sequence[Resource]
    ) -> Mapping[int, Sequence[Guest]]:
        """Return the servers on the hosts, with what their flavors, each asked for once, say of their sizes."""
        servers = self.guests(cloud, resources)
        wanted = {server.flavor_id for found in servers.values() for server in found}
        flavors = {each: cloud.flavors.get(each) for each in sorted(wanted)}
        sizes = {each: None if flavor is None else amounts_of(flavor) for each, flavor in flavors.items()}
        return {
            number: [
                Guest(each.id, each.status, stays_on_draw(each, settings), sizes[each.flavor_id], each.created_at)
                for each in found
            ]
            for number, found in servers.items()
        }

    def room(self, cloud: Cloud, resource: Resource) -> Room:
        """Return what Placement would still give to servers on the host, by resource class."""
        hostname = resource.attributes["hypervisor_hostname"]
        inventories, used = cloud.providers.inventories(hostname), cloud.providers.usages(hostname)
        free = {name: max(0, each.capacity - used.get(name, 0)) for name, each in inventories.items()}
        return Room(free, {name: each.max_unit for name, each in inventories.items()})

    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:  # noqa: ARG002 - the driver's contract
        """Return how the hypervisors are, found by hostname: numbers repeat from cell to cell (resources §7.2)."""
        found = {each.hypervisor_hostname: report_of(each) for each in cloud.hypervisors.list()}
        hostnames = {each.number: each.attributes["hypervisor_hostname"] for each in resources}
        return {number: found[name] for number, name in hostnames.items() if name in found}

    def concerns(self, event_type: str, payload: Mapping[str, Any]) -> bool:
        """Say so of a change of a compute service, or of a service that is not named (contract resources §7.1)."""
        return event_type == SERVICE_CHANGED and _binary(payload) in (None, COMPUTE)

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

    def converge(self, cloud: Cloud, job: Convergence[HostRequest], wanted: Wanted) -> Mapping[str, Any]:
        """Keep the reservation's aggregate; while it is active, with exactly the hosts that the reservation holds."""
        if wanted is Wanted.ENDED:
            return (hand_over if job.gives_back else dissolve)(cloud, job)
        aggregate = ensure_aggregate(cloud, job)
        if wanted is Wanted.ACTIVE:
            hosts = names_of(job.holdings)
            arriving = hosts - (aggregate.hosts - on_the_way(cloud, job, aggregate))
            steps = [partial(occupy, cloud, job, host, aggregate.hosts) for host in sorted(arriving)]
            steps += [partial(leave, cloud, job, host) for host in sorted(aggregate.hosts - hosts)]
            gone = names_of((*job.former, *job.left)) - aggregate.hosts
            steps += [partial(unclaim, cloud, job, host) for host in sorted(gone)]
            steps += [partial(unclaim, cloud, job, host) for host in sorted(returned(job) - arriving)]
            if job.reservation.no_show is not None and job.reservation.no_show.claims:
                steps += [partial(unclaim, cloud, job, host) for host in sorted(hosts - arriving)]
            do_all(steps, patient=False)
        return {"aggregate_id": aggregate.id}

    def needs(self, cloud: Cloud, job: Convergence[HostRequest]) -> Mapping[HostName, Mapping[str, int] | None]:  # noqa: ARG002 - the driver's contract
        """Return the hosts, all of each."""
        return {held.host_name: None for held in job.holdings}

    def make_way(
        self, cloud: Cloud, job: Convergence[HostRequest], error: CloudTransientError, records: Records
    ) -> None:
        """Delete late boots among the leftover servers that block the start."""
        if isinstance(error, StrangersError):
            numbers = {held.resource.attributes["service_name"]: held.resource.number for held in job.holdings}
            delete_late_boots(cloud, records, {error.service_host: numbers[error.service_host]}, error.servers)

    def occupied(self, cloud: Cloud, job: Convergence[HostRequest]) -> frozenset[int]:
        """Return the allocations on vacated hosts that are still in the aggregate, because they have servers."""
        return on_hosts(job.left, members_of(cloud, job.name))

    def kept(self, cloud: Cloud, job: Convergence[HostRequest]) -> frozenset[int]:
        """Return the allocations on hosts that are still in the aggregate."""
        return on_hosts(job.all_holdings, members_of(cloud, job.name))

    def used(self, cloud: Cloud, job: Convergence[HostRequest]) -> frozenset[int]:
        """Return the allocations on hosts that have servers; one listing for all of them."""
        there = cloud.servers.on_hosts(names_of(job.holdings))
        return on_hosts(job.holdings, {server.service_host for server in there})

    def uses(self, cloud: Cloud, job: Convergence[HostRequest]) -> Mapping[int, Collection[ResourceUser]]:
        """Return the servers on the hosts, of every project; one listing for all of them."""
        held = (*job.holdings, *job.left)
        there = self.guests(cloud, [each.resource for each in held])
        return {each.allocation_id: users_of(there[each.resource.number]) for each in held}

    def counted(self, cloud: Cloud, jobs: Sequence[Convergence[Any]]) -> Mapping[Place, int]:
        """Return 1 for each host that has a server of a project that may use it; one listing for all of them."""
        there = self.guests(cloud, [held.resource for job in jobs for held in job.holdings])
        return {
            (job.name, held.resource.number): 1
            for job in jobs
            for held in job.holdings
            if any(server.project_id in job.projects for server in there[held.resource.number])
        }

    def give_up(self, cloud: Cloud, job: Convergence[HostRequest], holding: Holding) -> bool:
        """Move the host into the free pool, if nothing is on its way to it."""
        return give_up(cloud, job, holding.resource.attributes["service_name"])

    def before_end(self, cloud: Cloud, job: Convergence[HostRequest]) -> Mapping[str, Any]:
        """Do the end actions that the reservation asks for with the servers on its hosts."""
        chain = chain_of(job.request.before_end, job.settings)
        return chain.warn(cloud, job, servers_on(cloud, members_of(cloud, job.name))) if chain else {}


def _binary(payload: Mapping[str, Any]) -> Any:
    """Return which program the service is; None if the payload does not say, as for one that is not versioned."""
    data = payload.get("nova_object.data")
    return data.get("binary") if isinstance(data, dict) else None
