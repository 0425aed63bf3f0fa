"""What instance and flavor reservations share: slots on hosts, and how the cloud enforces them (resources §3, §4).

A private flavor gives access, an aggregate says where, and a custom resource class with one unit a slot limits how
many servers fit; no server group is needed (design §2).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from leasehold.calendar.search import Spread, earliest_slots
from leasehold.cloud.ports import CloudTransientError, Inventory
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.base import Explain, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.cloud.ports import Cloud, Flavor
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window
    from leasehold.resource_types.base import Holding, Job, Request, Search

    Counts = NDArray[np.int64]
    Mask = NDArray[np.bool_]

RESERVATION_KEY = "reservation"
SERVER_GROUP = "server_group_id"
TENANT_KEY = "filter_tenant_id"
FLAVOR_KEY = "aggregate_instance_extra_specs:reservation"


def resource_class(reservation_id: str) -> str:
    """Return the custom resource class of a reservation."""
    return f"CUSTOM_RESERVATION_{reservation_id.upper().replace('-', '_')}"


def child_provider(hypervisor_hostname: str) -> str:
    """Return the name of the provider that carries our inventories of a host."""
    return f"blazar_{hypervisor_hostname}"


def extra_specs(reservation_id: str) -> dict[str, str]:
    """Return what ties a private flavor to its reservation."""
    return {FLAVOR_KEY: reservation_id, f"resources:{resource_class(reservation_id)}": "1"}


def affinity_key(request: Request) -> dict[str, str]:
    """Return what Blazar put on the flavor and the aggregate of a lease with a server group.

    A lease that was taken over keeps it: Nova matches the one with the other, so neither may lack it.
    """
    return {"affinity_id": request[SERVER_GROUP]} if SERVER_GROUP in request else {}


def group_of(reservation: Reservation) -> str | None:
    """Return the server group that a user may name as a hint: Blazar's, of a lease taken over, or our own."""
    group: str | None = reservation.request.get(SERVER_GROUP) or reservation.cloud.get(SERVER_GROUP)
    return group


def spread_of(affinity: bool | None) -> Spread:  # noqa: FBT001 - a tri-state of the contract
    """Return how the slots may lie: on one host, on different hosts, or anywhere."""
    return {True: Spread.ONE_HOST, False: Spread.DISTINCT_HOSTS, None: Spread.ANY}[affinity]


def place(
    demand: Mapping[str, int], amount: int, spread: Spread, search: Search, matches: Mask
) -> Sequence[Pick] | None:
    """Return picks for `amount` slots, or None when they do not fit.

    Hosts held come first, then hosts that carry other slots in this window, then empty ones, by number: packing keeps
    whole hosts free for host leases. With `firm` every slot held stays where it is.
    """
    snapshot, window = search.snapshot, search.padded
    mine = _mine(search)
    held = np.flatnonzero(mine)
    bookable = snapshot.bookable()
    order = _order(matches & (bookable | (mine > 0)), mine, snapshot.carrying(window))

    def usable(counts: Counts) -> Counts:
        room = _open(counts, mine, bookable, spread, search)
        if spread is Spread.DISTINCT_HOSTS:
            return np.minimum(room, 1)
        if spread is Spread.ONE_HOST:
            return np.where(room >= amount, amount, 0)
        return room

    def enough(counts: Counts) -> bool:
        return bool((counts[held] > 0).all() and usable(counts).sum() >= amount)

    counts = snapshot.slots_until(window, demand, order, enough)
    if search.firm and bool((counts < mine).any()):
        message = "A host in use cannot hold its instances throughout the new window. Ask for an earlier end."
        raise InUseError(message, field="end_date")
    room = usable(counts)
    order = order[room[order] > 0]
    if spread is Spread.ONE_HOST and not search.firm:
        # An amendment may ask for one host where there were several so far.
        order = order[:1]
    return _fill(snapshot.numbers, order, room, mine if search.firm else np.minimum(mine, room), amount, demand)


def _mine(search: Search) -> Counts:
    """Return how many slots are held on each host."""
    mine = np.zeros(len(search.snapshot.numbers), dtype=np.int64)
    held = search.snapshot.rows(pick.resource_number for pick in search.held)
    np.add.at(mine, held, [pick.slots for pick in search.held])
    return mine


def _open(counts: Counts, mine: Counts, bookable: Mask, spread: Spread, search: Search) -> Counts:
    """Return what of the room on each host is open to this reservation.

    A failed host that is held may be kept, but gets nothing more. Slots in use on one host cannot go to another.
    """
    room: Counts = np.where(bookable, counts, np.minimum(counts, mine))
    return np.where(_reachable(mine, spread, search), room, 0)


def _reachable(mine: Counts, spread: Spread, search: Search) -> Mask:
    """Return the hosts that the slots may go to at all."""
    stays = spread is Spread.ONE_HOST and search.firm and bool(mine.any())
    return mine > 0 if stays else np.ones(len(mine), dtype=np.bool_)


def _order(candidates: Mask, mine: Counts, carrying: Mask) -> NDArray[np.intp]:
    """Return the rows of the candidates in the order in which they are filled."""
    held = np.flatnonzero(candidates & (mine > 0))
    held = held[np.lexsort((held, ~carrying[held], -mine[held]))]
    fresh = candidates & (mine == 0)
    return np.concatenate([held, np.flatnonzero(fresh & carrying), np.flatnonzero(fresh & ~carrying)])


def _fill(
    numbers: NDArray[np.int64],
    order: NDArray[np.intp],
    usable: Counts,
    first: Counts,
    amount: int,
    demand: Mapping[str, int],
) -> Sequence[Pick] | None:
    """Give each host its share in order: what it held before is kept before anything is added anywhere."""
    kept = _share(order, first, amount)
    added = _share(order, usable[order] - kept, amount - int(kept.sum()), values=True)
    total = kept + added
    if int(total.sum()) < amount:
        return None
    return [Pick(int(numbers[row]), int(slots), dict(demand)) for row, slots in zip(order, total, strict=True) if slots]


def _share(order: NDArray[np.intp], supply: Counts, amount: int, *, values: bool = False) -> Counts:
    """Return how much of `amount` each host of `order` takes, first come first served."""
    offered = np.minimum(supply if values else supply[order], amount)
    before = np.cumsum(offered) - offered
    share: Counts = np.clip(amount - before, 0, offered)
    return share


def explain(
    resource_type: str, demand: Mapping[str, int], amount: int, spread: Spread, search: Search, matches: Mask
) -> Refusal:
    """Return why the slots do not fit, the largest amount that does, and the nearest window for all of them."""
    if search.explain is Explain.NOTHING:
        return Refusal(resource_type, "instances", amount, 0, search.window)
    snapshot = search.snapshot
    bookable, mine = snapshot.bookable(), _mine(search)
    healthy = matches & bookable
    counts = snapshot.slots(search.padded, demand, matches & (bookable | (mine > 0)))
    counts = _open(counts, mine, bookable, spread, search)
    largest = {
        Spread.ANY: lambda: int(np.minimum(counts, 2**31 - 1).sum()),
        Spread.ONE_HOST: lambda: int(counts.max(initial=0)),
        Spread.DISTINCT_HOSTS: lambda: int((counts > 0).sum()),
    }[spread]()
    able = (healthy | (matches & (mine > 0))) & _reachable(mine, spread, search)
    return Refusal(
        resource_type=resource_type,
        noun="instances",
        asked=amount,
        largest=largest,
        window=search.window,
        nearest=_nearest(demand, amount, spread, search, able),
        steps=(
            FilterCount("hosts enrolled", int(snapshot.enrolled().sum())),
            FilterCount("matching", int(matches.sum())),
            FilterCount("healthy", int(healthy.sum())),
            FilterCount("with room in the window", int((healthy & (counts > 0)).sum())),
        ),
    )


def _nearest(demand: Mapping[str, int], amount: int, spread: Spread, search: Search, able: Mask) -> Window | None:
    if search.explain < Explain.WINDOW:
        return None
    start, length = search.window.start, search.length
    return earliest_slots(
        search.snapshot, able, demand, amount, spread, start, length, margin=search.margin, check=search.check
    )


def converge_slots(cloud: Cloud, job: Job, wanted: Wanted, flavor: Flavor) -> Mapping[str, Any]:
    """Make flavor, aggregate, resource class and inventories match what the reservation holds."""
    if wanted is Wanted.ENDED:
        _dissolve(cloud, job)
        return {}
    name = job.name
    cloud.providers.ensure_class(resource_class(name))
    cloud.flavors.ensure(flavor)
    metadata = {RESERVATION_KEY: name, TENANT_KEY: job.project_id, job.settings.owner_key: job.project_id}
    metadata |= affinity_key(dict(job.reservation.request))
    aggregate = cloud.aggregates.ensure(name, None, metadata)
    if wanted is Wanted.ACTIVE:
        slots: Counter[tuple[str, str]] = Counter()
        for holding in job.holdings:
            # Healing may have added slots on a host that the reservation held already, as a promise of its own.
            attributes = holding.resource.attributes
            slots[attributes["service_name"], attributes["hypervisor_hostname"]] += holding.slots
        hosts = {host for host, _ in slots}
        for (host, hostname), total in sorted(slots.items()):
            _offer(cloud, job, hostname, total)
            if host not in aggregate.hosts:
                cloud.aggregates.add_host(name, host)
        cloud.flavors.grant(name, job.project_id)
        for holding in job.former:
            if holding.resource.attributes["service_name"] not in hosts:
                _withdraw(cloud, job, holding.resource.attributes)
        for holding in job.left:
            if holding.resource.attributes["service_name"] not in hosts:
                _leave(cloud, job, holding)
    return {"aggregate_id": aggregate.id}


def _offer(cloud: Cloud, job: Job, hostname: str, slots: int) -> None:
    provider = child_provider(hostname)
    cloud.providers.ensure_child(hostname, provider)
    cloud.providers.set_inventory(provider, resource_class(job.name), Inventory(total=slots, max_unit=1))


def _withdraw(cloud: Cloud, job: Job, attributes: Mapping[str, Any]) -> None:
    """Take a host out of the reservation, its servers of this reservation included."""
    host = attributes["service_name"]
    cloud.aggregates.remove_host(job.name, host)
    _remove_servers(cloud, job, host)
    cloud.providers.remove_inventory(child_provider(attributes["hypervisor_hostname"]), resource_class(job.name))


def _leave(cloud: Cloud, job: Job, left: Holding) -> None:
    """Keep new servers from a host that failed, and leave those that are there alone.

    Placement does not let go of an inventory that servers use, so it stays, with all of it reserved, until they are
    gone.
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


def occupied_slots(cloud: Cloud, job: Job) -> frozenset[int]:
    """Return the allocation ids of the holdings on failed hosts whose servers are not gone: their inventory remains."""
    live = {holding.resource.number for holding in job.holdings}
    wanted = resource_class(job.name)
    return frozenset(
        left.allocation_id
        for left in job.left
        if left.resource.number not in live
        and wanted in cloud.providers.inventories(child_provider(left.resource.attributes["hypervisor_hostname"]))
    )


def _remove_servers(cloud: Cloud, job: Job, host: str | None = None) -> None:
    """Delete the servers booted with the reservation's flavor, on one host or everywhere; raise while some are left."""

    def ours() -> int:
        servers = [server for server in cloud.servers.with_flavor(job.name) if host in (None, server.service_host)]
        for server in servers:
            cloud.servers.delete(server.id)
        return len(servers)

    if ours() and (left := ours()):
        message = f"{left} servers of reservation {job.name} are still being removed"
        raise CloudTransientError(message)


def _dissolve(cloud: Cloud, job: Job) -> None:
    """Remove all that the reservation has in the cloud; what is left when its servers are gone goes in any case."""
    name = job.name
    do_all([partial(cloud.flavors.revoke, name, job.project_id), partial(_remove_servers, cloud, job)])
    aggregate = cloud.aggregates.get(name)
    members = sorted(aggregate.hosts) if aggregate else []
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
            partial(cloud.providers.delete_class, resource_class(name)),
        ]
    )
