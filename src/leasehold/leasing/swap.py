"""Swap a resource of a lease for another one on request (feature J6).

Which servers are on the resource is asked of the cloud before the transaction; the decision uses the database alone.
Nothing is deleted: servers stay on the vacated resource, and no other lease gets it, until they are gone.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import resources_by_number
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.deciding.allocations import held_by, left_by
from leasehold.leasing.deciding.decide import promised_window
from leasehold.leasing.deciding.default_properties import judged, preferred
from leasehold.leasing.deciding.exchange import exchanged
from leasehold.leasing.deciding.flags import Flags, changed
from leasehold.leasing.deciding.mending import Mending, started
from leasehold.leasing.locks import ChangedMeanwhileError, look_again, look_at
from leasehold.leasing.requests import conditions_of
from leasehold.leasing.resources.survey import any_broken
from leasehold.leasing.steps.lifecycle import Phase, is_over, phase_of
from leasehold.leasing.unit import Order
from leasehold.metrics.decision import decision
from leasehold.model.allocation import Pick
from leasehold.model.errors import (
    BusyError,
    CloudUnavailableError,
    ConflictError,
    InvalidInputError,
    NotSwappableError,
    ServersNotNamedError,
    SwapUnfinishedError,
    some_of,
)
from leasehold.model.event_log import LeaseNews
from leasehold.model.refusal import NoWindow, Refusal
from leasehold.model.segment import Cause
from leasehold.model.transitions import Trigger, can, move
from leasehold.resource_types.capabilities import Swappable
from leasehold.resource_types.kind import Explain, Search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.cloud.ports import Server
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.allocation import Allocation
    from leasehold.model.draft import SwapWish
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The allocation whose resource is swapped, with its reservation and resource type."""

    type: ResourceType
    part: Reservation
    held: Allocation


@decision("swap")
def swap_resource(
    service: Service,
    lease_id: str,
    wish: SwapWish,
    if_generation: int | None = None,
    *,
    all_servers: bool = True,
    tells_disabled: bool = True,
) -> Lease:
    """Give a lease another matching resource in place of one of its own, for the rest of its window.

    With `all_servers` the wish has to name the servers of every project on the resource, otherwise those of the lease's
    project. A disabled resource is never given; `tells_disabled` says whether a refusal may mention them.

    Raises NotFoundError; StaleError when the lease's generation is not `if_generation`; that of its source;
    BusyError while it starts or ends, or when it changed during each of five tries; ConflictError when it is
    over; InvalidInputError for a resource or a server that the lease does not have; NotSwappableError,
    SwapUnfinishedError and ServersNotNamedError; NotEnoughError when no other resource is free; CloudUnavailableError.
    Nothing is changed then.
    """

    def attempt(looked: tuple[Lease, Mapping[int, Resource]]) -> Lease:
        seen, resources = looked
        service.source_of(seen).check_exchange(seen)
        _check_at_rest(seen, service.now())
        chosen = _Question(service, seen, resources, wish, all_servers).chosen()
        kind = chosen.type.kind
        conditions = conditions_of([(kind, kind.load(chosen.part.request))])
        return carry_out(service, Order(conditions), _Swapping(seen, chosen, tells_disabled))

    return look_again(lease_id, partial(_see, service, lease_id, if_generation), attempt)


def _see(service: Service, lease_id: str, if_generation: int | None) -> tuple[Lease, Mapping[int, Resource]]:
    """Return the lease, and by number the resources that it has or has not released."""
    with service.db.reading() as connection:
        lease = look_at(connection, lease_id, if_generation)
        numbers = {held.resource_number for held in lease.unreleased}
        return lease, resources_by_number(connection, numbers)


def _check_at_rest(lease: Lease, now: datetime) -> None:
    """Raise BusyError for a lease that starts or ends, and ConflictError for one that is over."""
    if is_over(lease):
        message = "The lease is over, so nothing of it can be swapped."
        raise ConflictError(message)
    if not can(lease.status, Trigger.SWAPPED) or phase_of(lease, now) in (Phase.START, Phase.END):
        message = (
            f"The lease is {lease.status}. A resource can be swapped while it is PENDING or ACTIVE, and its start or "
            "end is not under way; send the request again then."
        )
        raise BusyError(message)


@dataclass(frozen=True, slots=True)
class _Question:
    """Which resource a wish means, and whether it names the servers on it; this calls the cloud."""

    service: Service
    lease: Lease
    resources: Mapping[int, Resource]
    wish: SwapWish
    all_servers: bool

    def chosen(self) -> _Chosen:
        """Return the allocation to swap; raises the errors of `swap_resource`."""
        if not list(self._parts()):
            raise NotSwappableError(
                name for name, each in self.service.types.by_name.items() if isinstance(each.driver, Swappable)
            )
        there = self._guests()
        chosen = self._named() if self.wish.resource is not None else self._with_server(there)
        vacated = left_by(chosen.part)
        if vacated:
            raise SwapUnfinishedError(self._ids(there, vacated))
        servers = self._ids(there, [chosen.held])
        if servers != self.wish.servers:
            raise ServersNotNamedError(servers)
        return chosen

    def _parts(self) -> Iterator[tuple[Reservation, ResourceType]]:
        """Yield the reservations whose resources can be swapped."""
        for part in self.lease.reservations:
            found = self.service.types.find(part.resource_type)
            if found is not None and isinstance(found.driver, Swappable):
                yield part, found

    def _named(self) -> _Chosen:
        known = []
        for part, found in self._parts():
            for held in held_by(part, self.lease):
                resource = self.resources[held.resource_number]
                if self.wish.resource in (resource.id, resource.reference):
                    return _Chosen(found, part, held)
                known.append(resource.label)
        message = (
            f"The lease has no resource {str(self.wish.resource)[:80]!r} that can be swapped. It has {some_of(known)}."
        )
        raise InvalidInputError(message, field="host")

    def _with_server(self, there: Mapping[int, Sequence[Server]]) -> _Chosen:
        for part, found in self._parts():
            for held in (*held_by(part, self.lease), *left_by(part)):
                if self.wish.server in self._ids(there, [held]):
                    return _Chosen(found, part, held)
        message = (
            f"No resource of the lease that can be swapped has the server {str(self.wish.server)[:80]!r}. "
            "Name a server that you have on the resource that you want to swap."
        )
        raise InvalidInputError(message, field="server")

    def _guests(self) -> Mapping[int, Sequence[Server]]:
        """Return the servers on the lease's resources, by number.

        Nothing of a reservation that has not started is there yet: what runs on its resources is of other leases.
        """
        asked: dict[str, tuple[ResourceType, list[Resource]]] = {}
        for part, found in self._parts():
            held = held_by(part, self.lease) if started(self.lease, part) else []
            _, resources = asked.setdefault(found.name, (found, []))
            resources += [self.resources[each.resource_number] for each in (*held, *left_by(part))]
        there: dict[int, Sequence[Server]] = defaultdict(tuple)
        for found, resources in asked.values():
            try:
                if isinstance(found.driver, Swappable) and resources:
                    there |= found.driver.guests(self.service.cloud, resources)
            except CloudError as error:
                # The error may name hosts, which members do not learn.
                log.warning("The servers of lease %s are not known, so nothing is swapped: %s", self.lease.id, error)
                message = "The cloud cannot be asked about the servers of the lease now. Try again later."
                raise CloudUnavailableError(message) from error
        return there

    def _ids(self, there: Mapping[int, Sequence[Server]], on: Iterable[Allocation]) -> frozenset[str]:
        """Return the servers on the resources of these allocations, as far as the caller may see them."""
        servers = (server for held in on for server in there.get(held.resource_number, ()))
        return frozenset(each.id for each in servers if self.all_servers or each.project_id == self.lease.project_id)


@dataclass(frozen=True, slots=True)
class _Swapping:
    """The use case, about the lease as it was `seen`."""

    seen: Lease
    chosen: _Chosen
    tells_disabled: bool

    def __call__(self, unit: Unit) -> Decision:
        held, pool = self.chosen.held, self.chosen.held.pool
        locks, lease = unit.lock_as_seen(self.seen, {pool})
        _check_at_rest(lease, locks.now)
        part = next(each for each in lease.reservations if each.id == self.chosen.part.id)
        if held.id not in {each.id for each in held_by(part, lease)}:
            raise ChangedMeanwhileError
        kept = [each.pick for each in held_by(part, lease) if each.id != held.id]
        with unit.snapshots(locks) as snapshots:
            picks = self._instead(unit, locks, lease, part, snapshots[pool])
            default = judged(snapshots[pool], part.default_properties, [*kept, *picks])
        flags = replace(self._flags(unit, locks, lease, part), default=default)
        fresh = [(pick, False) for pick in picks]
        mending = Mending(flags, [held], fresh=fresh, started=started(lease, part))
        swapped, why = move(lease, Trigger.SWAPPED), (Cause.SWAPPED, LeaseNews.SWAPPED)
        return exchanged(locks, swapped, {part.id: mending}, {part.id: pool}, (), why)

    def _instead(self, unit: Unit, locks: Locks, lease: Lease, part: Reservation, pool: Snapshot) -> Sequence[Pick]:
        """Return what the reservation gets: nothing that the lease holds or has ever vacated; raises NotEnoughError."""
        kind, held, service = self.chosen.type.kind, self.chosen.held, unit.service
        window = part.ending.held(promised_window(lease.begins, lease.window.end, locks.now))
        terms = service.terms(window, lease.window.duration + part.ending.tail)
        view = pool.for_project(*service.types.projects_of(lease, held.pool)).booked(
            [Pick(number) for number in sorted(_vacated(lease, held.pool))], window
        )
        request = kind.exactly(kind.load(part.request), held.slots)
        search: Search[Any] = Search(
            view,
            window,
            terms.length,
            margin=terms.margins.of(held.pool),
            explain=Explain.AMOUNTS,
            check=terms.budget.check,
            beside=tuple(each.pick for each in held_by(part, lease) if each.id != held.id),
        )
        if part.default_properties is not None:
            narrow = preferred(view, part.default_properties, terms.budget.check)
            better = kind.heal(request, held.slots, replace(search, snapshot=narrow))
            if not isinstance(better, Refusal):
                return better
        outcome = kind.heal(request, held.slots, search)
        if isinstance(outcome, Refusal):
            on_disabled = False
            if self.tells_disabled and view.eligible.any_disabled:
                more = replace(search, snapshot=view.among(view.eligible.with_disabled()))
                on_disabled = not isinstance(kind.heal(request, held.slots, more), Refusal)
            raise kind.not_enough(replace(outcome, no_window=NoWindow.KEPT, fits_on_disabled=on_disabled))
        return outcome

    def _flags(self, unit: Unit, locks: Locks, lease: Lease, part: Reservation) -> Flags:
        """Return the flags of a reservation after the swap: what was chosen on request is no substitute.

        A flag goes if it was about the resource that is given up: one that had failed, or a substitute.
        """
        held = held_by(part, lease)
        kept = [each for each in held if each.id != self.chosen.held.id]
        other = changed(part, held, substitutes=any(each.substitute for each in kept))
        if not part.missing_resources:
            return Flags(resources_changed=other)
        stuck = any_broken(unit.service.types, locks.connection, kept, locks.now)
        return Flags(part.missing != 0 or stuck, other, part.missing)


def _vacated(lease: Lease, pool: str) -> set[int]:
    """Return the resources of a pool that the lease has ever vacated."""
    held = (each for part in lease.reservations for each in part.allocations)
    return {each.resource_number for each in held if each.pool == pool and each.left_at is not None}
