"""The kind of `virtual:floatingip`: public addresses of a network (contract resources §5)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from leasehold.calendar.profile import Units
from leasehold.calendar.search import Sought, earliest_free
from leasehold.model.allocation import Pick
from leasehold.model.errors import DuplicateError, InUseError, InvalidInputError, NotEnoughFloatingIpsError
from leasehold.model.properties import Comparison, matches
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.fields import Amount, Identifier, RequestBody, read
from leasehold.resource_types.kind import Explain, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.model.properties import Expression
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Search


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        message = f"{text[:60]!r} is not an IPv4 or IPv6 address"
        raise ValueError(message) from None


Address = Annotated[str, AfterValidator(_address)]


class FloatingIpBody(RequestBody):
    """`amount` addresses of a network, of which `required_floatingips` are named."""

    network_id: Identifier
    amount: Amount
    required_floatingips: Annotated[list[Address], Field(max_length=1024, default_factory=list)]


@dataclass(frozen=True, slots=True)
class FloatingIpRequest:
    """The parsed `FloatingIpBody`, the addresses sorted and without duplicates."""

    network_id: str
    amount: int
    required_floatingips: tuple[str, ...] = ()


class FloatingIpKind(Kind[FloatingIpRequest]):
    """Addresses, each allocated as a whole."""

    name = FLOATING_IP
    pool = FLOATING_IP_POOL
    noun = "floating IPs"
    singular = "address"
    id_name = "floatingip_id"
    whole = "floating_ips"
    public = True
    shared = False
    not_enough = NotEnoughFloatingIpsError
    schema = FloatingIpBody
    request_type = FloatingIpRequest

    def duplicate(self, reference: str) -> DuplicateError:
        """Name the address, and the field of the request (contract http-api §7)."""
        message = f"The address {reference.rpartition('/')[2]} is enrolled already."
        return DuplicateError(message, field="floating_ip_address")

    def described(self, description: Mapping[str, Any]) -> str:
        """Return the network: it is the only thing that the cloud is asked about."""
        return f"network {description['floating_network_id']}"

    def parse(self, raw: Mapping[str, Any]) -> FloatingIpRequest:
        """Read a request; raises InvalidInputError for more named addresses than `amount`."""
        body = read(FloatingIpBody, raw)
        named = tuple(sorted(set(body.required_floatingips)))
        if len(named) > body.amount:
            message = (
                f"required_floatingips names {len(named)} addresses, more than the amount "
                f"of {body.amount}; raise amount or name fewer."
            )
            raise InvalidInputError(message, field="required_floatingips")
        return FloatingIpRequest(body.network_id, body.amount, named)

    def store(self, request: FloatingIpRequest) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return super().store(request) | {"required_floatingips": list(request.required_floatingips)}

    def one(self, resource: Resource) -> dict[str, Any]:
        """Ask for the address by its name: no other one stands in for it."""
        network, address = (resource.attributes[key] for key in ("floating_network_id", "floating_ip_address"))
        return {"network_id": network, "amount": 1, "required_floatingips": [address]}

    def load(self, stored: Mapping[str, Any]) -> FloatingIpRequest:
        """Return the stored request."""
        return FloatingIpRequest(stored["network_id"], stored["amount"], tuple(stored["required_floatingips"]))

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> FloatingIpRequest:
        """Return the request with the given keys changed; `network_id` stays, `amount` only grows once active."""
        before = self.load(reservation.request)
        request = self.parse({**reservation.request, **raw})
        if request.network_id != before.network_id:
            message = "network_id of a reservation cannot change; make another lease for the other network."
            raise InvalidInputError(message, field="network_id")
        if request.required_floatingips not in ((), before.required_floatingips):
            message = "required_floatingips of a reservation can only be emptied, with []."
            raise InvalidInputError(message, field="required_floatingips")
        if reservation.status is not ReservationStatus.PENDING and request.amount < before.amount:
            message = f"The reservation is active, so amount cannot shrink below {before.amount}."
            raise InvalidInputError(message, field="amount")
        return request

    def conditions(self, request: FloatingIpRequest) -> Collection[Expression]:
        """Return two conditions: one for the addresses of the network, one for the named addresses."""
        return (_of_network(request), _of_names(request))

    def fits(self, request: FloatingIpRequest, resource: Resource) -> bool:
        """Return whether the address is in the network; healing never puts an unnamed one in place of a named one."""
        return matches(_of_network(request), resource.values.get)

    def comparisons(self, request: FloatingIpRequest) -> int:
        """Return the number of named addresses."""
        return len(request.required_floatingips)

    def without(self, request: FloatingIpRequest, amount: int, resource: Resource) -> FloatingIpRequest:
        """Return the request without the address, which it may name."""
        address = resource.attributes["floating_ip_address"]
        named = tuple(each for each in request.required_floatingips if each != address)
        return FloatingIpRequest(request.network_id, amount, named)

    def heal(
        self, request: FloatingIpRequest, amount: int, search: Search[FloatingIpRequest]
    ) -> Sequence[Pick] | Refusal:
        """Keep the held addresses, then take named ones, then others; no address stands in for a named one."""
        snapshot = search.snapshot
        held = np.zeros(len(snapshot.numbers), dtype=np.bool_)
        held[snapshot.rows(pick.resource_number for pick in search.held)] = True
        of_network = _in_network(request, search)
        usable = (of_network & snapshot.free(search.padded) & snapshot.eligible.bookable()) | held
        named = snapshot.eligible.matching(_of_names(request), search.check)
        order = np.lexsort((snapshot.numbers, ~named, ~held))
        chosen = order[usable[order]]
        others = np.cumsum(~named[chosen])
        chosen = chosen[named[chosen] | (others <= request.amount - len(request.required_floatingips))][:amount]
        if len(chosen) < amount:
            return Refusal(self.name, self.noun, amount, len(chosen), search.window)
        return [Pick(int(number)) for number in snapshot.numbers[chosen]]

    def units(self, request: FloatingIpRequest, search: Search[FloatingIpRequest]) -> Units:
        """Return the addresses of the network, the named ones like all others."""
        return Units(_in_network(request, search))

    def allocate(self, request: FloatingIpRequest, search: Search[FloatingIpRequest]) -> Sequence[Pick] | Refusal:
        """Take the named addresses, then those held, then free ones of the network in the weigher's order."""
        snapshot = search.snapshot
        of_network = _in_network(request, search)
        free = snapshot.free(search.padded)
        held = np.zeros(len(free), dtype=np.bool_)
        held[snapshot.rows(pick.resource_number for pick in search.held)] = True
        if search.firm and bool((held & ~free).any()):
            message = "An address in use is allocated to others in the new window. Ask for an earlier end."
            raise InUseError(message, field="end_date")
        usable = of_network & free & (snapshot.eligible.bookable() | held)
        named = snapshot.eligible.matching(_of_names(request), search.check)
        if int((usable & named).sum()) < len(request.required_floatingips):
            return _refusal(request, search, of_network, usable, named, held)
        order = np.lexsort((snapshot.numbers, ~held, ~named))
        chosen = order[usable[order]]
        if len(chosen) < request.amount:
            return _refusal(request, search, of_network, usable, named, held)
        first = int((named | held)[chosen].sum())
        fresh = snapshot.ordered(chosen[first:], search.padded, self.name)
        chosen = np.concatenate([chosen[:first], fresh])[: request.amount]
        return [Pick(int(number)) for number in snapshot.numbers[chosen]]


def _in_network(request: FloatingIpRequest, search: Search[FloatingIpRequest]) -> NDArray[np.bool_]:
    """Return the mask of the enrolled addresses of the network."""
    return search.snapshot.eligible.enrolled() & search.snapshot.eligible.matching(_of_network(request), search.check)


def _of_network(request: FloatingIpRequest) -> Comparison:
    return Comparison("==", "floating_network_id", (request.network_id,))


def _of_names(request: FloatingIpRequest) -> Comparison:
    return Comparison("in", "floating_ip_address", request.required_floatingips)


def _refusal(
    request: FloatingIpRequest,
    search: Search[FloatingIpRequest],
    of_network: NDArray[np.bool_],
    usable: NDArray[np.bool_],
    named: NDArray[np.bool_],
    held: NDArray[np.bool_],
) -> Refusal:
    required = len(request.required_floatingips)
    short = required > int((usable & named).sum())
    steps = [
        FilterCount("enrolled in the network", int(of_network.sum())),
        FilterCount("free in the window", int(usable.sum())),
    ]
    if required:
        steps.append(FilterCount(f"of the {required} named ones free", int((usable & named).sum())))
    healthy = of_network & (search.snapshot.eligible.bookable() | held)
    return Refusal(
        resource_type=FLOATING_IP,
        noun="floating IPs",
        asked=request.amount,
        largest=0 if short else int(usable.sum()),
        window=search.window,
        nearest=_nearest(search, healthy & named, required, healthy, request.amount),
        steps=tuple(steps),
    )


def _nearest(
    search: Search[FloatingIpRequest], named: NDArray[np.bool_], required: int, healthy: NDArray[np.bool_], amount: int
) -> Window | None:
    """Return the first window in which both the named addresses and the whole amount are free."""
    if search.explain < Explain.WINDOW:
        return None
    start = search.window.start
    while True:
        of_named, of_all = (
            earliest_free(search.snapshot, candidates, count, Sought(start, search.length, search.margin, search.check))
            for candidates, count in ((named, required), (healthy, amount))
        )
        if of_named is None or of_all is None or of_named == of_all:
            return of_named and of_all
        start = max(of_named.start, of_all.start)
