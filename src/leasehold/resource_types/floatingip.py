"""`virtual:floatingip`: public addresses of a network (contract resources §5)."""

from __future__ import annotations

from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from leasehold.calendar.search import earliest_free
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError, InvalidInputError
from leasehold.model.properties import Comparison
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.base import Explain, Wanted, mark_of
from leasehold.resource_types.fields import Amount, Identifier, RequestBody, read

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.cloud.ports import Cloud, FloatingIp
    from leasehold.model.caller import Caller
    from leasehold.model.properties import Expression
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window
    from leasehold.resource_types.base import Holding, Job, Request, Search

TAG = "blazar"


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        message = f"{text[:60]!r} is not an IPv4 or IPv6 address"
        raise ValueError(message) from None


Address = Annotated[str, AfterValidator(_address)]


class FloatingIpRequest(RequestBody):
    """`amount` addresses of a network, of which `required_floatingips` are named."""

    network_id: Identifier
    amount: Amount
    required_floatingips: Annotated[list[Address], Field(max_length=1024, default_factory=list)]


class FloatingIpReservations:
    """Addresses that are created in the project at the start and removed at the end."""

    name = FLOATING_IP
    pool = FLOATING_IP_POOL
    schema = FloatingIpRequest

    def parse(self, raw: Mapping[str, Any]) -> Request:
        """Read a request; more named addresses than `amount` are refused."""
        request = read(FloatingIpRequest, raw).model_dump()
        request["required_floatingips"] = sorted(set(request["required_floatingips"]))
        if len(request["required_floatingips"]) > request["amount"]:
            message = (
                f"required_floatingips names {len(request['required_floatingips'])} addresses, more than the amount "
                f"of {request['amount']}; raise amount or name fewer."
            )
            raise InvalidInputError(message, field="required_floatingips")
        return request

    def resolve(self, cloud: Cloud, caller: Caller, request: Request) -> Request:  # noqa: ARG002 - the plugin contract
        """Return the request as it is: it needs nothing from the cloud."""
        return request

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> Request:
        """Return the request with the given keys changed; `network_id` stays, `amount` only grows once active."""
        before = reservation.request
        request = self.parse({**before, **raw})
        if request["network_id"] != before["network_id"]:
            message = "network_id of a reservation cannot change; make another lease for the other network."
            raise InvalidInputError(message, field="network_id")
        if request["required_floatingips"] not in ([], before["required_floatingips"]):
            message = "required_floatingips of a reservation can only be emptied, with []."
            raise InvalidInputError(message, field="required_floatingips")
        if reservation.status is not ReservationStatus.PENDING and request["amount"] < before["amount"]:
            message = f"The reservation is active, so amount cannot shrink below {before['amount']}."
            raise InvalidInputError(message, field="amount")
        return request

    def conditions(self, request: Request) -> Collection[Expression]:
        """Return what says which addresses are of the network, and which are named."""
        return (_of_network(request), _of_names(request))

    def allocate(self, request: Request, search: Search) -> Sequence[Pick] | Refusal:
        """Take the named addresses, then those held, then the lowest-numbered free ones of the network."""
        snapshot = search.snapshot
        of_network = snapshot.enrolled() & snapshot.matching(_of_network(request), search.check)
        free = snapshot.free(search.padded)
        held = np.zeros(len(free), dtype=np.bool_)
        held[snapshot.rows(pick.resource_number for pick in search.held)] = True
        if search.firm and bool((held & ~free).any()):
            message = "An address in use is promised to others in the new window. Ask for an earlier end."
            raise InUseError(message, field="end_date")
        usable = of_network & free & (snapshot.bookable() | held)
        named = snapshot.matching(_of_names(request), search.check)
        if int((usable & named).sum()) < len(request["required_floatingips"]):
            return _refusal(request, search, of_network, usable, named, held)
        order = np.lexsort((snapshot.numbers, ~held, ~named))
        chosen = order[usable[order]][: request["amount"]]
        if len(chosen) < request["amount"]:
            return _refusal(request, search, of_network, usable, named, held)
        return [Pick(int(number)) for number in snapshot.numbers[chosen]]

    def exactly(self, request: Request, amount: int) -> Request:
        """Return the request with this amount."""
        return {**request, "amount": amount}

    def converge(self, cloud: Cloud, job: Job, wanted: Wanted) -> Mapping[str, Any]:
        """Keep exactly the held addresses in the project while active, and none afterwards."""
        if wanted is Wanted.PREPARED:
            return {}
        tag = mark_of(job.name)
        tagged = {_place(found): found for found in cloud.networks.list_floating_ips(tag)}
        there = {place: found for place, found in tagged.items() if found.project_id == job.project_id}
        holdings = job.holdings if wanted is Wanted.ACTIVE else ()
        places = {_place_of(holding): holding.resource.attributes for holding in holdings}
        do_all(
            [
                *(partial(cloud.networks.delete_floating_ip, there[each].id) for each in sorted(there.keys() - places)),
                *(partial(_obtain, cloud, job, places[each]) for each in sorted(places.keys() - there)),
                *(partial(_remove, cloud, job, place) for place in sorted(_over(job, wanted) - there.keys())),
            ]
        )
        return {}

    def occupied(self, cloud: Cloud, job: Job) -> frozenset[int]:  # noqa: ARG002 - the plugin contract
        """Return nothing: addresses do not fail."""
        return frozenset()

    def before_end(self, cloud: Cloud, job: Job) -> None:
        """Do nothing: v1 has no action for addresses."""

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the request as it was asked."""
        return dict(reservation.request)


def _of_network(request: Request) -> Comparison:
    return Comparison("==", "floating_network_id", (request["network_id"],))


def _of_names(request: Request) -> Comparison:
    return Comparison("in", "floating_ip_address", tuple(request["required_floatingips"]))


def _refusal(
    request: Request,
    search: Search,
    of_network: NDArray[np.bool_],
    usable: NDArray[np.bool_],
    named: NDArray[np.bool_],
    held: NDArray[np.bool_],
) -> Refusal:
    required = len(request["required_floatingips"])
    short = required > int((usable & named).sum())
    steps = [
        FilterCount("enrolled in the network", int(of_network.sum())),
        FilterCount("free in the window", int(usable.sum())),
    ]
    if required:
        steps.append(FilterCount(f"of the {required} named ones free", int((usable & named).sum())))
    healthy = of_network & (search.snapshot.bookable() | held)
    return Refusal(
        resource_type=FLOATING_IP,
        noun="floating IPs",
        asked=request["amount"],
        largest=0 if short else int(usable.sum()),
        window=search.window,
        nearest=_nearest(search, healthy & named, required, healthy, request["amount"]),
        steps=tuple(steps),
    )


def _nearest(
    search: Search, named: NDArray[np.bool_], required: int, healthy: NDArray[np.bool_], amount: int
) -> Window | None:
    """Return the first window in which both the named addresses and the whole amount are free."""
    if search.explain < Explain.WINDOW:
        return None
    start = search.window.start
    while True:
        of_named, of_all = (
            earliest_free(
                search.snapshot, candidates, count, start, search.length, margin=search.margin, check=search.check
            )
            for candidates, count in ((named, required), (healthy, amount))
        )
        if of_named is None or of_all is None or of_named == of_all:
            return of_named and of_all
        start = max(of_named.start, of_all.start)


def _place(found: FloatingIp) -> tuple[str, str]:
    return found.network_id, found.address


def _place_of(holding: Holding) -> tuple[str, str]:
    """Return where a held address is: tags are the tenant's to change, network and address are not."""
    where = holding.resource.attributes
    return where["floating_network_id"], where["floating_ip_address"]


def _over(job: Job, wanted: Wanted) -> set[tuple[str, str]]:
    """Return the places that the reservation held and holds no more."""
    over = {_place_of(holding) for holding in job.former}
    held = {_place_of(holding) for holding in job.holdings}
    return over | held if wanted is Wanted.ENDED else over - held


def _obtain(cloud: Cloud, job: Job, where: Mapping[str, Any]) -> None:
    network, subnet, address = (where[key] for key in ("floating_network_id", "subnet_id", "floating_ip_address"))
    tags = frozenset({TAG, mark_of(job.name)})
    cloud.networks.create_floating_ip(network, subnet, address, job.project_id, tags)


def _remove(cloud: Cloud, job: Job, place: tuple[str, str]) -> None:
    """Remove an address from the lease's project whatever its tags are.

    It was leased to the project: the cloud itself never hands out an address that is enrolled.
    """
    found = cloud.networks.floating_ip(*place)
    if found is not None and found.project_id == job.project_id:
        cloud.networks.delete_floating_ip(found.id)
