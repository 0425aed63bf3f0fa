"""`physical:host`: whole compute hosts for one project (contract resources §2)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leasehold.calendar.search import earliest_free
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, StrangersError
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError, InvalidInputError
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.model.resource import HOST, HOST_POOL
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.attempts import do_all, for_each
from leasehold.resource_types.base import Explain, Wanted
from leasehold.resource_types.fields import Amount, ExpressionText, RequestBody, read
from leasehold.resource_types.matching import condition_of, matching
from leasehold.resource_types.snapshots import asks_for_images, say_waiting, spared, take_images

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.cloud.ports import Aggregate, Cloud, Server
    from leasehold.model.caller import Caller
    from leasehold.model.properties import Expression
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window
    from leasehold.resource_types.base import Holding, Job, Request, Search


class HostRequest(RequestBody):
    """Between `min` and `max` hosts that match both expressions."""

    min: Amount
    max: Amount
    hypervisor_properties: ExpressionText
    resource_properties: ExpressionText
    before_end: Literal["", "snapshot", "default"] = "default"


class HostReservations:
    """Whole hosts: picked exclusively, moved from the free pool into an aggregate named after the reservation."""

    name = HOST
    pool = HOST_POOL
    schema = HostRequest

    def parse(self, raw: Mapping[str, Any]) -> Request:
        """Read a request; `max` below `min` is refused."""
        request = read(HostRequest, raw)
        if request.max < request.min:
            message = f"The value of max ({request.max}) must not be less than min ({request.min})."
            raise InvalidInputError(message, field="max")
        return request.model_dump()

    def resolve(self, cloud: Cloud, caller: Caller, request: Request) -> Request:  # noqa: ARG002 - the plugin contract
        """Return the request as it is: it needs nothing from the cloud."""
        return request

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> Request:
        """Return the request with the given keys changed (contract http-api §5.4)."""
        return self.parse({**reservation.request, **raw})

    def conditions(self, request: Request) -> Collection[Expression]:
        """Return the condition that the property expressions of the request state."""
        return (condition_of(request),)

    def allocate(self, request: Request, search: Search) -> Sequence[Pick] | Refusal:
        """Keep the hosts held, then take the lowest-numbered free ones that match, up to `max`.

        First fit by number leaves the hosts at the end of the list empty for the longest time, so that large requests
        find room. An amendment that changes neither `min` nor `max` keeps its number of hosts.
        """
        snapshot = search.snapshot
        matches = matching(search, request)
        free = snapshot.free(search.padded)
        held = snapshot.rows(pick.resource_number for pick in search.held)
        kept = held[(matches & free)[held]]
        if search.firm and (len(kept) < len(held) or len(held) > request["max"]):
            raise _in_use(len(held), len(kept), request)
        candidates = matches & snapshot.bookable() & free
        candidates[held] = False
        lacking = max(0, _wanted(request, search) - len(kept))
        chosen = np.concatenate([kept[: request["max"]], np.flatnonzero(candidates)[:lacking]])
        if len(chosen) < request["min"]:
            return _refusal(request, search, matches, free, len(kept) + int(candidates.sum()))
        return [Pick(int(number)) for number in snapshot.numbers[chosen]]

    def exactly(self, request: Request, amount: int) -> Request:
        """Return the request with this amount."""
        return {**request, "min": amount, "max": amount}

    def converge(self, cloud: Cloud, job: Job, wanted: Wanted) -> Mapping[str, Any]:
        """Keep the reservation's aggregate, and in it exactly the hosts it holds while it is active."""
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
            do_all(steps, patient=False)
        return {"aggregate_id": aggregate.id}

    def occupied(self, cloud: Cloud, job: Job) -> frozenset[int]:
        """Return the holdings on hosts that failed and have not left the aggregate: there are servers on them."""
        aggregate = cloud.aggregates.get(job.name)
        members = aggregate.hosts if aggregate else frozenset[str]()
        return frozenset(each.allocation_id for each in job.left if each.resource.attributes["service_name"] in members)

    def before_end(self, cloud: Cloud, job: Job) -> None:
        """Take a snapshot of every server on the reservation's hosts, when the reservation asks for it."""
        if asks_for_images(job):
            aggregate = cloud.aggregates.get(job.name)
            take_images(cloud, job, aggregate.hosts if aggregate else ())

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the request as it was asked."""
        return dict(reservation.request)


def _on_the_way(cloud: Cloud, job: Job, aggregate: Aggregate) -> frozenset[str]:
    """Return the members that may not have arrived completely: an earlier attempt may have broken off anywhere.

    Until the start has succeeded that is all of them; later, those that are in the free pool still.
    """
    if job.reservation.status is ReservationStatus.PENDING or not aggregate.hosts:
        return aggregate.hosts
    pool = cloud.aggregates.get(job.settings.freepool)
    return pool.hosts if pool else frozenset()


def _wanted(request: Request, search: Search) -> int:
    before = search.before
    if before is not None and (before["min"], before["max"]) == (request["min"], request["max"]):
        return max(len(search.held), int(request["min"]))
    return int(request["max"])


def _in_use(held: int, kept: int, request: Request) -> InUseError:
    if held > request["max"]:
        message = f"The active reservation uses {held} hosts, so max cannot become {request['max']}; end the lease."
        return InUseError(message, field="max")
    message = (
        f"{held - kept} of the {held} hosts in use cannot be kept: they do not match the new properties or are "
        "promised to others in the new window. Ask for an earlier end, or for properties that they have."
    )
    return InUseError(message, field="end_date")


def _refusal(
    request: Request, search: Search, matches: NDArray[np.bool_], free: NDArray[np.bool_], largest: int
) -> Refusal:
    snapshot = search.snapshot
    healthy = matches & snapshot.bookable()
    held = np.zeros(len(matches), np.bool_)
    held[snapshot.rows(pick.resource_number for pick in search.held)] = True
    return Refusal(
        resource_type=HOST,
        noun="hosts",
        asked=request["min"],
        largest=largest,
        window=search.window,
        nearest=_nearest(request, search, healthy | (matches & held)),
        steps=(
            FilterCount("enrolled", int(snapshot.enrolled().sum())),
            FilterCount("matching", int(matches.sum())),
            FilterCount("healthy", int(healthy.sum())),
            FilterCount("free in the window", int((healthy & free).sum())),
        ),
    )


def _nearest(request: Request, search: Search, able: NDArray[np.bool_]) -> Window | None:
    if search.explain < Explain.WINDOW:
        return None
    return earliest_free(
        search.snapshot,
        able,
        request["min"],
        search.window.start,
        search.length,
        margin=search.margin,
        check=search.check,
    )


def _release(cloud: Cloud, job: Job, host: str) -> None:
    """Bring a host out of the reservation, unless it failed and has servers."""
    if host not in _names(job.left):
        _vacate(cloud, job, host)
    elif not cloud.servers.on_host(host):
        _give_back(cloud, job, host)


def _occupy(cloud: Cloud, job: Job, host: str, members: Collection[str]) -> None:
    """Move a host from the free pool into the aggregate.

    The reservation's aggregate comes first: a host in no pool at all would be open to everybody's servers (contract
    nova-filter §3, row 9), and one in two pools to no preemptible one (row 7), so the second sweep is final.
    """
    there = _sweep_preemptible(cloud, host)
    if host not in members:
        _refuse_strangers(job, host, there)
    cloud.aggregates.add_host(job.name, host)
    cloud.aggregates.remove_host(job.settings.freepool, host)
    _sweep_preemptible(cloud, host)


def _refuse_strangers(job: Job, host: str, servers: Sequence[Server]) -> None:
    """Raise StrangersError for servers that were there before the reservation; one that runs has its own back."""
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


def _vacate(cloud: Cloud, job: Job, host: str, kept: Collection[str] = ()) -> None:
    """Remove the reservation's servers from a host, then give it back to the free pool: released last.

    A host that the reservation was never promised came in by hand: its servers are not the reservation's, and whether
    it belongs into the free pool is the audit's affair. The servers in `kept` stay, and the host with them.
    """
    if host not in _names(job.all_holdings):
        _expel(cloud, job, host)
        return
    _remove_servers(cloud, host, cloud.servers.on_host(host), kept)
    _give_back(cloud, job, host)


def _give_back(cloud: Cloud, job: Job, host: str) -> None:
    """Move an empty host from the aggregate into the free pool; a host in neither would be open to anybody."""
    cloud.aggregates.add_host(job.settings.freepool, host)
    cloud.aggregates.remove_host(job.name, host)


def _expel(cloud: Cloud, job: Job, host: str) -> None:
    """Take out a host that is not the reservation's; raises CloudPermanentError while there are servers on it."""
    if cloud.servers.on_host(host):
        message = (
            f"host {host} was put into aggregate {job.name} by hand, and servers run on it: "
            "move them away, or take the host out"
        )
        raise CloudPermanentError(message)
    cloud.aggregates.remove_host(job.name, host)


def _remove_servers(cloud: Cloud, host: str, servers: Sequence[Server], kept: Collection[str] = ()) -> None:
    for server in servers:
        if server.id not in kept:
            cloud.servers.delete(server.id)
    left = cloud.servers.on_host(host) if servers else ()
    if left:
        message = f"{len(left)} servers on {host} are still being removed"
        raise CloudTransientError(message)


def _dissolve(cloud: Cloud, job: Job) -> None:
    aggregate = cloud.aggregates.get(job.name)
    if aggregate is not None:
        kept = spared(cloud, job, aggregate.hosts)
        steps = [partial(_vacate, cloud, job, host, kept) for host in sorted(aggregate.hosts)]
        do_all([partial(say_waiting, job, kept), *steps])
    cloud.aggregates.delete(job.name)
    # A boot that the scheduler let through before the aggregate went may have landed since; the host is not released
    # yet, so whatever is on it and not preemptible is this reservation's.
    hosts = _names(job.all_holdings)
    for_each(hosts, lambda host: _remove_servers(cloud, host, _not_preemptible(cloud, host)), patient=True)


def _names(holdings: Sequence[Holding]) -> set[str]:
    """Return the holdings as the cloud's aggregates know them."""
    return {holding.resource.attributes["service_name"] for holding in holdings}


def _not_preemptible(cloud: Cloud, host: str) -> list[Server]:
    return [server for server in cloud.servers.on_host(host) if not server.preemptible]
