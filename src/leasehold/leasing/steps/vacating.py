"""What an active reservation gives up on request: resources that nothing uses (features A11 and A13, decision 0074).

What uses them is asked of the cloud before the transaction of the amendment, which holds only if the lease has not
changed since.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import resources_by_number
from leasehold.leasing.deciding.allocations import held_by, left_by
from leasehold.leasing.deciding.mending import started
from leasehold.leasing.steps.lifecycle import jobs_of
from leasehold.model.allocation import slots_of
from leasehold.model.errors import (
    CloudUnavailableError,
    ConflictError,
    InUseError,
    NotFoundError,
    SwapUnfinishedError,
    some_of,
)
from leasehold.model.states import LeaseStatus, ReservationStatus
from leasehold.resource_types.capabilities import GivingUp, Vacating

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import ResourceUser
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Vacated:
    """A reservation with the request for what it has left, and the ids of the allocations that it gives up."""

    part: Reservation
    allocations: frozenset[int] = frozenset()


def named(service: Service, lease: Lease, reservation_id: str, resource_id: str) -> Vacated | None:
    """Return what a reservation gives up of the resource with this id; None if it has given that up before.

    Raises NotFoundError; ConflictError where a single resource cannot be given up, or is all that there is; InUseError
    and SwapUnfinishedError for what is in use; CloudUnavailableError.
    """
    part = next((each for each in lease.kept if each.id == reservation_id), None)
    if part is None:
        raise NotFoundError("reservation_id", reservation_id)
    found = service.types.get(part.resource_type)
    if not isinstance(found.driver, Vacating):
        message = (
            f"Reservations of {found.kind.noun} lose no single resource; change the amount, or drop the reservation."
        )
        raise ConflictError(message, field="resource_id")
    with service.db.reading() as connection:
        resources = resources_by_number(connection, {each.resource_number for each in part.allocations})
    numbers = {number for number, each in resources.items() if each.id == resource_id}
    if not numbers:
        raise NotFoundError("resource_id", resource_id)
    held = held_by(part, lease)
    gone = [each for each in held if each.resource_number in numbers]
    if not gone:
        return None
    request = found.kind.load(part.request)
    left = part.promised(slots_of(held), partial(found.kind.amount, request)) - slots_of(gone)
    if left < 1:
        message = "A reservation keeps one resource at least; drop the reservation or delete the lease instead."
        raise ConflictError(message, field="resource_id")
    users = used_by(service, lease, part, found)
    check_left(lease, part, users)
    if any(users.get(each.id) for each in gone):
        here = [user for each in gone for user in users.get(each.id, ())]
        raise InUseError(in_use(lease, here), field="resource_id", details=details(lease, here))
    lowered = found.kind.without(request, left, resources[gone[0].resource_number])
    return Vacated(_asking(part, found, lowered), frozenset(each.id for each in gone))


def surplus(
    service: Service, lease: Lease, part: Reservation, found: ResourceType, asked: Mapping[str, Any]
) -> Vacated:
    """Return what an active reservation gives up for a smaller amount, and nothing for any other change.

    Raises the errors of the kind; InUseError if too little is unused; SwapUnfinishedError; CloudUnavailableError.
    """
    kind, active = found.kind, part.status is ReservationStatus.ACTIVE and lease.status is LeaseStatus.ACTIVE
    if not active or not isinstance(found.driver, Vacating) or not isinstance(found.driver, GivingUp):
        return Vacated(part)
    before = kind.load(part.request)
    amount = kind.amount(kind.amend(replace(part, status=ReservationStatus.PENDING), asked))
    if amount >= kind.amount(before):
        return Vacated(part)
    held = held_by(part, lease)
    too_much = slots_of(held) - amount
    lowered = _asking(part, found, kind.exactly(before, amount))
    if too_much <= 0:
        return Vacated(lowered)
    users = used_by(service, lease, part, found)
    check_left(lease, part, users)
    chosen = _adding_up([each for each in held if not users.get(each.id)], too_much)
    if chosen is None:
        busy = [user for each in held for user in users.get(each.id, ())]
        unused = slots_of(each for each in held if not users.get(each.id))
        message = (
            f"The active reservation has {slots_of(held)} {kind.noun}, of which {unused} are on resources that nothing "
            f"uses; these are given up whole, so {kind.most_field} cannot become {amount}."
            + (f" {in_use(lease, busy)}" if busy else "")
        )
        raise InUseError(message, field=kind.most_field, details=details(lease, busy))
    return Vacated(lowered, frozenset(each.id for each in chosen))


def _asking(part: Reservation, found: ResourceType, request: object) -> Reservation:
    return replace(part, request=found.kind.store(request))


def used_by(
    service: Service, lease: Lease, part: Reservation, found: ResourceType
) -> Mapping[int, Sequence[ResourceUser]]:
    """Return by allocation id what uses the resources of a reservation; nothing does before it has started."""
    driver = found.driver
    if not isinstance(driver, Vacating) or not started(lease, part):
        return {}
    with service.db.reading() as connection:
        job = next(each for each in jobs_of(service, connection, lease) if each.name == part.id)
    try:
        return {ident: list(users) for ident, users in driver.uses(service.cloud, job).items()}
    except CloudError as error:
        # The error may name hosts, which members do not learn.
        log.warning("What uses the resources of lease %s is not known, so none is given up: %s", lease.id, error)
        message = "The cloud cannot be asked what uses the resources of the lease now. Try again later."
        raise CloudUnavailableError(message) from error


def check_left(lease: Lease, part: Reservation, users: Mapping[int, Sequence[ResourceUser]]) -> None:
    """Raise SwapUnfinishedError if servers are left on a resource that the reservation gave up before.

    Otherwise it could use more than it was promised, by leaving a server on each resource that it gives up.
    """
    left = [user for each in left_by(part) if each.given_up for user in users.get(each.id, ())]
    if left:
        raise SwapUnfinishedError(_own(lease, left))


def _adding_up(unused: Sequence[Allocation], wanted: int) -> Sequence[Allocation] | None:
    """Return allocations with `wanted` slots together, those on the last resources first; None if there are none.

    A number has a bit for each sum of slots that some of the first allocations have: there may be thousands of both.
    """
    ordered = sorted(unused, key=lambda held: -held.resource_number)
    sums, most = [1], (2 << wanted) - 1
    for each in ordered:
        sums.append((sums[-1] | sums[-1] << each.slots) & most)
    if not sums[-1] >> wanted & 1:
        return None
    chosen: list[Allocation] = []
    left = wanted
    for each, before in reversed(list(zip(ordered, sums, strict=False))):
        if not before >> left & 1:
            chosen.append(each)
            left -= each.slots
    return chosen


def _own(lease: Lease, users: Iterable[ResourceUser]) -> list[str]:
    """Return what of the lease's own project is among these: it learns nothing of others."""
    return sorted({user.ident for user in users if user.project_id == lease.project_id})


def in_use(lease: Lease, users: Sequence[ResourceUser]) -> str:
    """Return who uses resources, and what to do; only the lease's own project is named."""
    own = _own(lease, users)
    who = some_of(own) if own else "servers of other projects"
    return f"In use by {who}: move, delete or detach that, and send the request again."


def details(lease: Lease, users: Sequence[ResourceUser]) -> dict[str, Any]:
    """Return which servers of the lease's own project use resources, for an error."""
    return {"servers": _own(lease, users)}
