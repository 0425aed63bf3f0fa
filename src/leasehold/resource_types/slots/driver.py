"""Enforce slots on hosts in a cloud, for instance and flavor reservations (contract resources §3, §4).

A private flavor gives access, an aggregate selects the hosts, and a custom resource class with one unit per slot limits
the number of servers; no server group is needed (design §2).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Inventory
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.capabilities import CleaningUp, Counting, HoldingServers
from leasehold.resource_types.driver import Driver, HostName, ResourceUser, Wanted, users_of
from leasehold.resource_types.end_actions.awaiting import NOTHING_AWAITED
from leasehold.resource_types.end_actions.chain import chain_of
from leasehold.resource_types.late_boots import delete_late_boots
from leasehold.resource_types.outliving import say_living
from leasehold.resource_types.slots.hosts import members_of, on_hosts
from leasehold.resource_types.slots.names import (
    RESERVATION_KEY,
    TENANT_KEY,
    affinity_key,
    child_provider,
    group_of,
    resource_class,
)
from leasehold.resource_types.slots.objects import SlotObjects, remove_class
from leasehold.resource_types.slots.room import amounts_of, listed, make_room
from leasehold.resource_types.strategy import load_strategy

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.cloud.ports import Aggregate, Cloud, Flavor, Server
    from leasehold.resource_types.capabilities import Place
    from leasehold.resource_types.driver import Convergence, Holding
    from leasehold.resource_types.end_actions.awaiting import Awaited
    from leasehold.resource_types.records import Records


R = TypeVar("R")


class SlotsDriver(Driver[R], SlotObjects, HoldingServers, CleaningUp, Counting):
    """Keeps a flavor, an aggregate and a resource class for each reservation."""

    def started(self, cloud: Cloud, job: Convergence[R], records: Records) -> None:
        """Delete late boots on the hosts of slots that begin, and make room once more.

        Slots do not wait for other servers on these hosts: those of other slots belong there, and the audit reports the
        rest to the operator.
        """
        in_slots = {held.id for held in job.reservation.allocations if held.demand is not None}
        numbers = {
            holding.resource.attributes["service_name"]: holding.resource.number
            for holding in job.holdings
            if holding.allocation_id in in_slots
        }
        if numbers:
            there = cloud.servers.on_hosts(numbers.keys())
            delete_late_boots(cloud, records, numbers, [each for each in there if each.flavor_id != job.name])
            if job.settings.expect_preemptibles:
                # Some may have passed the scheduler before the hosts were closed to them, and have landed since.
                names = (held.resource.attributes for held in job.holdings)
                strategy = load_strategy(job.settings.displacement_strategy)
                make_room(cloud, {each["service_name"]: each["hypervisor_hostname"] for each in names}, there, strategy)

    def needs(self, cloud: Cloud, job: Convergence[R]) -> Mapping[HostName, Mapping[str, int] | None]:
        """Return what all slots on each host use."""
        size, slots = amounts_of(cloud.flavors.get(job.name)), Counter[HostName]()
        for held in job.holdings:
            slots[held.host_name] += held.slots
        return {host: {name: amount * many for name, amount in size.items()} for host, many in slots.items()}

    def occupied(self, cloud: Cloud, job: Convergence[R]) -> frozenset[int]:
        """Return the allocation ids on vacated hosts that still have servers: there the inventory still exists.

        Where the reservation has some of the slots again, these are more servers than it has slots.
        """
        live: Counter[int] = Counter()
        for held in job.holdings:
            live[held.resource.number] += held.slots
        return frozenset(
            left.allocation_id for left in job.left if _remains(cloud, job, left, live[left.resource.number])
        )

    def kept(self, cloud: Cloud, job: Convergence[R]) -> frozenset[int]:
        """Return the allocations on hosts that have servers of the reservation, or from which it is not withdrawn."""
        members = members_of(cloud, job.name)
        used = {server.service_host for server in cloud.servers.with_flavor(job.name)} | members
        return frozenset(
            held.allocation_id
            for held in job.all_holdings
            if held.resource.attributes["service_name"] in used or _offered(cloud, job, held)
        )

    def used(self, cloud: Cloud, job: Convergence[R]) -> frozenset[int]:
        """Return the allocations on hosts that have servers of the reservation."""
        return on_hosts(job.holdings, {server.service_host for server in _booted(cloud, job)})

    def uses(self, cloud: Cloud, job: Convergence[R]) -> Mapping[int, Collection[ResourceUser]]:
        """Return the servers of the reservation on each host."""
        there: dict[str | None, list[Server]] = defaultdict(list)
        for server in _booted(cloud, job):
            there[server.service_host].append(server)
        held = (*job.holdings, *job.left)
        return {each.allocation_id: users_of(there[each.resource.attributes["service_name"]]) for each in held}

    def counted(self, cloud: Cloud, jobs: Sequence[Convergence[Any]]) -> Mapping[Place, int]:
        """Return how many servers of each reservation are on each host; one listing for all of them."""
        names = {held.resource.attributes["service_name"] for job in jobs for held in job.holdings}
        there = Counter((each.flavor_id, each.service_host) for each in cloud.servers.on_hosts(names))
        return {
            (job.name, held.resource.number): there[job.name, held.resource.attributes["service_name"]]
            for job in jobs
            for held in job.holdings
        }

    def give_up(self, cloud: Cloud, job: Convergence[R], holding: Holding) -> bool:
        """Withdraw a reservation from a host; return False if a server has one of its slots there, or is to get one.

        Placement decides it: it does not remove an inventory that a boot has been given a part of.
        """
        attributes = holding.resource.attributes
        provider, offered = child_provider(attributes["hypervisor_hostname"]), resource_class(job.name)
        if cloud.providers.usages(provider).get(offered):
            return False
        cloud.providers.remove_inventory(provider, offered)
        cloud.aggregates.remove_host(job.name, attributes["service_name"])
        return True

    def before_end(self, cloud: Cloud, job: Convergence[R]) -> Mapping[str, Any]:
        """Do the end actions that the reservation asks for with its servers."""
        chain = chain_of(job.reservation.ending.before_end, job.settings)
        return chain.warn(cloud, job, _kept_somewhere(cloud, job)) if chain else {}


def converge_slots(
    cloud: Cloud, job: Convergence[Any], wanted: Wanted, flavor: Flavor, server_group: str | None = None
) -> Mapping[str, Any]:
    """Make flavor, aggregate, resource class and inventories match the reservation's holdings; return its facts."""
    if wanted is Wanted.ENDED:
        return _dissolve(cloud, job)
    name = job.name
    prepared = job.reservation.status is ReservationStatus.PENDING and "aggregate_id" in job.reservation.cloud
    if not (wanted is Wanted.ACTIVE and prepared):
        # A start of what is prepared finds the class; one that was removed since is missed by `_offer`.
        cloud.providers.ensure_class(resource_class(name))
    cloud.flavors.ensure(flavor)
    tenants = ",".join((job.project_id, *job.reservation.shared_with))
    owner = {TENANT_KEY: tenants, job.settings.owner_key: job.project_id}
    metadata = {RESERVATION_KEY: name, **owner, **job.lease_mark, **affinity_key(server_group)}
    aggregate = cloud.aggregates.ensure(name, None, metadata)
    if wanted is Wanted.ACTIVE:
        _activate(cloud, job, aggregate)
    return {"aggregate_id": aggregate.id}


def _activate(cloud: Cloud, job: Convergence[Any], aggregate: Aggregate) -> None:
    """Offer the slots on the hosts of the holdings, let the project use them, and withdraw those elsewhere."""
    name = job.name
    slots: Counter[tuple[str, str]] = Counter()
    for holding in job.holdings:
        # Healing may have added slots on a host that the reservation holds already, as a second allocation.
        attributes = holding.resource.attributes
        slots[attributes["service_name"], attributes["hypervisor_hostname"]] += holding.slots
    hosts = {host for host, _ in slots}
    for (host, hostname), total in sorted(slots.items()):
        _offer(cloud, job, hostname, total)
        if host not in aggregate.hosts:
            cloud.aggregates.add_host(name, host)
    # Until the start has succeeded, an earlier attempt may have added the hosts and waited for their room.
    starting = job.reservation.status is ReservationStatus.PENDING
    entering = {host: hostname for host, hostname in slots if starting or host not in aggregate.hosts}
    if entering and job.settings.expect_preemptibles:
        make_room(cloud, entering, listed(cloud, entering), load_strategy(job.settings.displacement_strategy))
    for project, may in {job.project_id: True, **job.reservation.shares}.items():
        (cloud.flavors.grant if may else cloud.flavors.revoke)(name, project)
    for holding in job.former:
        if holding.resource.attributes["service_name"] not in hosts:
            _withdraw(cloud, job, holding.resource.attributes)
    for holding in job.left:
        if holding.resource.attributes["service_name"] not in hosts:
            _leave(cloud, job, holding)


def _offer(cloud: Cloud, job: Convergence[Any], hostname: str, slots: int) -> None:
    provider, offered, inventory = child_provider(hostname), resource_class(job.name), Inventory(slots, max_unit=1)
    cloud.providers.ensure_child(hostname, provider)
    try:
        cloud.providers.set_inventory(provider, offered, inventory)
    except CloudPermanentError:
        cloud.providers.ensure_class(offered)
        cloud.providers.set_inventory(provider, offered, inventory)


def _withdraw(cloud: Cloud, job: Convergence[Any], attributes: Mapping[str, Any]) -> None:
    """Take a host out of the reservation, and delete the reservation's servers on it."""
    host = attributes["service_name"]
    cloud.aggregates.remove_host(job.name, host)
    _remove_servers(cloud, job, host)
    cloud.providers.remove_inventory(child_provider(attributes["hypervisor_hostname"]), resource_class(job.name))


def _leave(cloud: Cloud, job: Convergence[Any], left: Holding) -> None:
    """Vacate a failed host: prevent new servers of the reservation, and keep the existing ones.

    Placement refuses to delete an inventory that servers use, so all of its units are marked reserved until the servers
    are gone.
    """
    attributes = left.resource.attributes
    host, provider, name = attributes["service_name"], child_provider(attributes["hypervisor_hostname"]), job.name
    cloud.aggregates.remove_host(name, host)
    there = cloud.providers.inventories(provider).get(resource_class(name))
    if there is None:
        return
    if any(server.service_host == host for server in cloud.servers.with_flavor(name)):
        closed = replace(there, reserved=there.total)
        if there != closed:
            cloud.providers.set_inventory(provider, resource_class(name), closed)
    else:
        cloud.providers.remove_inventory(provider, resource_class(name))


def _remains(cloud: Cloud, job: Convergence[Any], left: Holding, slots: int) -> bool:
    """Say whether servers use more of a vacated host than these slots, which the reservation has there."""
    if not slots:
        return _offered(cloud, job, left)
    usages = cloud.providers.usages(child_provider(left.resource.attributes["hypervisor_hostname"]))
    return usages.get(resource_class(job.name), 0) > slots


def _offered(cloud: Cloud, job: Convergence[Any], held: Holding) -> bool:
    """Say whether the reservation has an inventory on the host."""
    provider = child_provider(held.resource.attributes["hypervisor_hostname"])
    return resource_class(job.name) in cloud.providers.inventories(provider)


def _booted(cloud: Cloud, job: Convergence[Any]) -> list[Server]:
    """Return the servers of the reservation that are on a host."""
    return [server for server in cloud.servers.with_flavor(job.name) if server.service_host is not None]


def _kept_somewhere(cloud: Cloud, job: Convergence[Any]) -> list[Server]:
    """Return the servers that the end deletes and that are more than a failed boot: on a host, or shelved off it."""
    there = cloud.servers.with_flavor(job.name)
    return [each for each in there if each.service_host is not None or each.status == "SHELVED_OFFLOADED"]


def _remove_servers(cloud: Cloud, job: Convergence[Any], host: str | None = None, kept: Collection[str] = ()) -> None:
    """Delete the servers with the reservation's flavor, on one host or all, but those in `kept`.

    Raises CloudTransientError while any remain.
    """

    def ours() -> int:
        servers = [server for server in cloud.servers.with_flavor(job.name) if host in (None, server.service_host)]
        for server in servers:
            if server.id not in kept:
                cloud.servers.delete(server.id)
        return len(servers)

    if ours() and (left := ours()):
        message = f"{left} servers of reservation {job.name} are still being removed"
        raise CloudTransientError(message)


def _dissolve(cloud: Cloud, job: Convergence[Any]) -> Mapping[str, Any]:
    """Revoke access and remove the servers; once none remains, remove all other cloud objects of the reservation."""
    name = job.name
    chain = chain_of(job.reservation.ending.before_end, job.settings)
    if chain:
        _close(cloud, job)
    awaited = chain.awaited(cloud, job, _kept_somewhere(cloud, job)) if chain else NOTHING_AWAITED
    if job.kept_until is not None:
        _let_live(cloud, job, awaited)
    removes = partial(_remove_servers, cloud, job, kept=awaited.servers)
    do_all([partial(_close, cloud, job), awaited.say, removes])
    members = sorted(members_of(cloud, name))
    names = {holding.resource.attributes["hypervisor_hostname"] for holding in job.all_holdings}
    providers = sorted(child_provider(hostname) for hostname in names)
    group = group_of(job.reservation)
    do_all(
        [
            *(partial(cloud.aggregates.remove_host, name, host) for host in members),
            partial(cloud.aggregates.delete, name),
            *(partial(cloud.providers.remove_inventory, provider, resource_class(name)) for provider in providers),
            *([partial(cloud.server_groups.delete, group)] if group and cloud.server_groups else ()),
            partial(cloud.flavors.delete, name),
            partial(remove_class, cloud.providers, resource_class(name)),
        ]
    )
    return awaited.facts


def _close(cloud: Cloud, job: Convergence[Any]) -> None:
    """Let no project boot servers with the reservation's flavor any more."""
    for project in (job.project_id, *job.reservation.shares):
        cloud.flavors.revoke(job.name, project)


def _let_live(cloud: Cloud, job: Convergence[Any], awaited: Awaited) -> None:
    """Let no new servers in, withdraw from hosts without any, and raise CloudTransientError while some live on."""
    _close(cloud, job)
    living = Counter(server.service_host for server in _booted(cloud, job))
    if living:
        empty = [each.resource.attributes for each in job.all_holdings]
        empty = [attributes for attributes in empty if attributes["service_name"] not in living]
        steps = [partial(_withdraw, cloud, job, attributes) for attributes in empty]
        do_all([awaited.say, partial(say_living, job, sum(living.values()), awaited.facts), *steps])
