"""What of a lease can be lent: whole hosts of an active reservation that nothing uses (feature I4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.db.resources.resource import resources_by_number
from leasehold.features.lending.model import NotLendableError, SubLeaseLevelError
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.steps import vacating
from leasehold.leasing.steps.lifecycle import Phase, phase_of
from leasehold.model.errors import BusyError, ConflictError, InUseError, InvalidInputError, some_of
from leasehold.model.judging import next_no_show
from leasehold.model.states import LeaseStatus, ReservationStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.features.lending.model import LendWish
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes


@dataclass(frozen=True, slots=True)
class Lendable:
    """The allocations of one reservation that are lent, and the request of the sub-lease for as much."""

    part: Reservation
    held: tuple[Allocation, ...]
    kind: Kind[Any]

    @property
    def raw(self) -> Mapping[str, Any]:
        """The request for exactly these resources: they are there, so no property is asked for."""
        return {**dict.fromkeys(self.kind.counts, len(self.held)), **self.kind.unconditional}


def lendable(service: Service, lease: Lease, wish: LendWish) -> Lendable:
    """Return what a lease lends; this calls the cloud.

    Raises SubLeaseLevelError for a sub-lease; BusyError while the lease starts or ends; NotLendableError for what is
    not lent now; InvalidInputError for what the lease does not have; InUseError and
    SwapUnfinishedError for hosts with servers; CloudUnavailableError.
    """
    if wish.project_id == lease.project_id:
        message = "The project has the lease already; name another one."
        raise InvalidInputError(message, field="project_id")
    part = part_to_lend(service.types, lease, wish.reservation_id)
    check_lendable(service.types, lease, part, service.now())
    held, resources = _held(service, lease, part)
    asked = _named(held, resources, wish.hosts) if wish.hosts else held
    type_ = service.types.get(part.resource_type)
    users = vacating.used_by(service, lease, part, type_)
    vacating.check_left(lease, part, users)
    fit = [each for each in asked if _fits(resources[each.resource_number], wish.project_id)]
    free = [each for each in fit if not users.get(each.id)]
    many = len(asked) if wish.hosts else wish.amount or 0
    if len(free) >= many:
        return Lendable(part, tuple(sorted(free, key=lambda each: -each.resource_number)[:many]), type_.kind)
    if len(fit) < many:
        message = (
            f"{len(fit)} of the hosts work and may be used by the project {wish.project_id}; lend no more than these."
        )
        raise NotLendableError(message, field="hosts" if wish.hosts else "amount")
    busy = [user for each in fit for user in users.get(each.id, ())]
    message = f"Nothing runs on {len(free)} of the hosts, and {many} were to be lent. {vacating.in_use(lease, busy)}"
    field = "hosts" if wish.hosts else "amount"
    raise InUseError(message, field=field, details={**vacating.details(lease, busy), "unused": len(free)})


def lendable_now(service: Service, lease: Lease, reservation_id: str, project_id: str) -> int:
    """Return how many hosts of a reservation can be lent to a project now; this calls the cloud.

    Raises CloudUnavailableError.
    """
    try:
        part = part_to_lend(service.types, lease, reservation_id)
        check_lendable(service.types, lease, part, service.now())
        held, resources = _held(service, lease, part)
        users = vacating.used_by(service, lease, part, service.types.get(part.resource_type))
        vacating.check_left(lease, part, users)
    except ConflictError:
        return 0
    return sum(_fits(resources[each.resource_number], project_id) and not users.get(each.id) for each in held)


def _held(service: Service, lease: Lease, part: Reservation) -> tuple[Sequence[Allocation], Mapping[int, Resource]]:
    """Return what a reservation has, and the hosts of that by their numbers."""
    held = held_by(part, lease)
    with service.db.reading() as connection:
        return held, resources_by_number(connection, {each.resource_number for each in held})


def _names(resource: Resource) -> tuple[str, str, str]:
    return resource.id, resource.reference, resource.label


def _fits(resource: Resource, project_id: str) -> bool:
    return resource.admitted and resource.open_to(project_id)


def part_to_lend(types: ResourceTypes, lease: Lease, reservation_id: str | None) -> Reservation:
    """Return the reservation that is meant, the only one of hosts if none is named."""
    if reservation_id is not None:
        part = next((each for each in lease.kept if each.id == reservation_id), None)
        if part is None:
            message = f"The lease has no reservation {reservation_id[:80]!r}."
            raise InvalidInputError(message, field="reservation_id")
        return part
    parts = [each for each in lease.kept if types.lends(each.resource_type)]
    if len(parts) > 1:
        message = f"The lease has {len(parts)} reservations of hosts; name the one to lend of by `reservation_id`."
        raise InvalidInputError(message, field="reservation_id")
    if not parts:
        message = "The lease has no hosts; nothing else can be lent."
        raise NotLendableError(message)
    return parts[0]


def check_lendable(types: ResourceTypes, lease: Lease, part: Reservation, now: datetime) -> None:
    """Raise an error of `lendable` if a reservation of this type never lends, or lends nothing now."""
    _check_origin(lease)
    if not types.lends(part.resource_type):
        message = f"Only hosts can be lent, and this is a reservation of {part.resource_type}."
        raise NotLendableError(message, field="reservation_id")
    check_lends(lease, part, now)


def _check_origin(lease: Lease) -> None:
    if lease.lent is not None:
        raise SubLeaseLevelError
    if lease.published_offer is not None:
        message = "The lease was made of a published offer, and what that lends is not lent on."
        raise NotLendableError(message)


def check_lends(lease: Lease, part: Reservation, now: datetime) -> None:
    """Raise an error of `lendable` if the reservation lends nothing now."""
    _check_origin(lease)
    if lease.status is not LeaseStatus.ACTIVE or part.status is not ReservationStatus.ACTIVE:
        message = f"The lease is {lease.status}; it lends while it is ACTIVE."
        raise NotLendableError(message)
    if now < lease.window.start:
        message = f"The lease is ready and begins at {lease.window.start:%Y-%m-%d %H:%M} UTC; it lends from then on."
        raise NotLendableError(message)
    if phase_of(lease, now) in (Phase.START, Phase.END):
        message = "The lease starts or ends just now."
        raise BusyError(message)
    _check_promise(lease, part)


def _check_promise(lease: Lease, part: Reservation) -> None:
    """Raise NotLendableError for a reservation that ends otherwise, may end before, or misses something."""
    if part.ending.tail:
        message = "Servers of this reservation outlive the lease (`on_end`, `grace_seconds`), so it lends nothing."
        raise NotLendableError(message, field="reservation_id")
    moment = next_no_show(lease)
    if moment is not None:
        message = (
            f"The lease may lose what it does not use (`no_show_seconds`); lend after {moment:%Y-%m-%d %H:%M} UTC."
        )
        raise NotLendableError(message)
    if part.missing_resources:
        message = "Hosts of this reservation have failed; lend when it has all that it was promised."
        raise NotLendableError(message, field="reservation_id")


def _named(held: Sequence[Allocation], resources: Mapping[int, Resource], names: Sequence[str]) -> list[Allocation]:
    """Return the allocations of the hosts with these ids or names; raises InvalidInputError for another one."""
    found = []
    for name in dict.fromkeys(names):
        mine = [each for each in held if name in _names(resources[each.resource_number])]
        if not mine:
            known = some_of(sorted(each.label for each in resources.values()))
            message = f"The reservation has no host {name[:80]!r}. It has {known}."
            raise InvalidInputError(message, field="hosts")
        found += [each for each in mine if each not in found]
    return found
