"""Let the reservation pool follow the leases that wait (feature F3): look at what there is, and move what is needed.

Nothing is locked while it is planned: each move is asked for as an operator does, and refused if it cannot be any more.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_leases
from leasehold.db.resources.pool_size import first_promises
from leasehold.db.resources.resource import list_resources
from leasehold.db.waiting import MOST, waiting_for
from leasehold.leasing.resources.resource import change
from leasehold.leasing.resources.survey import is_asked_for
from leasehold.model.errors import LeaseholdError
from leasehold.model.membership import Membership
from leasehold.model.placing.draw import Drawable
from leasehold.model.placing.pool_size import DrawCandidate, HostNeed, Part, PoolPlan, plan
from leasehold.model.resource import Health
from leasehold.model.terms.waiting import window_at
from leasehold.resource_types.strategy import ranked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.placing.pool_size import Size
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.capabilities import Movable
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

PAUSE_AFTER_FAILURE = timedelta(hours=1)
"""A host that could not be emptied is not drawn again sooner, unless an operator asks for it."""


def planned(service: Service) -> list[PoolPlan]:
    """Return what the reservation pool of each type needs now; raises CloudError if the servers cannot be listed."""
    return [_planned(service, *each) for each in _sized(service)]


def follow(service: Service) -> list[PoolPlan]:
    """Begin to move what the plans say, and return them; what cannot move now is left to the next round.

    Resources are given back first. For each that stays one less is drawn, so that the ceiling holds.
    """
    return [_follow(service, *each) for each in _sized(service)]


def _sized(service: Service) -> Iterator[tuple[ResourceType, Movable, Size]]:
    """Yield the types whose resources move as the configuration says, with what it says."""
    sizes = service.settings.manager.pool_sizes
    yield from ((type_, driver, sizes[type_.name]) for type_, driver in service.types.movable() if type_.name in sizes)


def _planned(service: Service, type_: ResourceType, driver: Movable, size: Size) -> PoolPlan:
    now, pool, settings = service.now(), type_.kind.pool, service.settings.cloud
    with service.db.reading() as connection:
        resources, promised = list_resources(connection, type_.name), first_promises(connection, pool, now)
        needs = list(_needs(service, connection, pool, resources, now))
    shared = [each for each in resources if each.membership is Membership.SHARED]
    guests = driver.sized_guests(service.cloud, settings, shared) if shared else {}
    drawable = {each.number: Drawable(each.number, each.label, tuple(guests.get(each.number, ()))) for each in shared}
    found = [
        DrawCandidate(
            each.number,
            each.label,
            each.membership,
            (each.admitted if each.pooled else each.health is Health.HEALTHY) and not each.disabled,
            each.membership_since,
            promised.get(each.number),
            len(drawable[each.number].movers) if each.number in drawable else 0,
            each.membership_reason is not None and now - (each.membership_since or now) < PAUSE_AFTER_FAILURE,
            held=each.held_for is not None,
        )
        for each in resources
    ]
    order = [each.number for each in ranked(service.strategy, list(drawable.values()))]
    return plan(found, needs, size, order, now)


def _follow(service: Service, type_: ResourceType, driver: Movable, size: Size) -> PoolPlan:
    found = _planned(service, type_, driver, size)
    with service.db.reading() as connection:
        idents = {each.number: each.id for each in list_resources(connection, type_.name)}

    def moves(each: DrawCandidate, pool: Membership) -> bool:
        return _moves(service, type_, each, idents[each.number], pool, found.reasons[each.number])

    left = [moves(each, Membership.SHARED) for each in found.give_back]
    for each in found.draw[: len(found.draw) - left.count(False)]:
        moves(each, Membership.RESERVATION)
    return found


def _moves(
    service: Service, type_: ResourceType, resource: DrawCandidate, ident: str, pool: Membership, reason: str
) -> bool:
    """Ask for a move, as an operator does, and return whether it has begun."""
    singular = type_.kind.singular
    try:
        change(service, type_.name, ident, {}, pool=pool)
    except LeaseholdError as error:
        log.info("The %s %s does not move to the pool %s: %s", singular, resource.label, pool, error)
        return False
    log.info("The %s %s moves to the pool %s. %s.", singular, resource.label, pool, reason)
    return True


def _needs(
    service: Service, connection: Connection, pool: str, resources: Sequence[Resource], now: datetime
) -> Iterator[HostNeed]:
    """Yield what leases that wait for a pool need, the longest waiting first; those that a limit stops need none."""
    of_pool = waiting_for(connection, {pool})
    # What a best-effort lease needs is drawn for it already.
    needy = (each.id for each in of_pool if not each.waiting.passed_over and not each.waiting.draws)
    waiting = list(islice(needy, MOST))
    found = {lease.id: lease for lease in find_leases(connection, waiting)}
    # A lease may ask for $reservable: a shared host is that once it is drawn.
    drawn = [replace(each, admitted=True, membership=Membership.RESERVATION) for each in resources]
    for lease_id in waiting:
        lease = found.get(lease_id)
        if lease is not None and lease.waits:
            types = [(part, service.types.find(part.resource_type)) for part in lease.reservations]
            parts = [part for part, type_ in types if type_ is not None and type_.kind.pool == pool]
            mine = [each for each in drawn if all(map(each.open_to, lease.projects))]
            yield HostNeed(lease.id, tuple(_part(service, each, mine) for each in parts), window_at(lease.window, now))


def _part(service: Service, part: Reservation, hosts: Sequence[Resource]) -> Part:
    """Return how many hosts a reservation needs at least, and which of them it asks for.

    How many hosts slots need is not known before they are decided: one is assumed.
    """
    asked = partial(is_asked_for, service.types, part.resource_type, part.request)
    return Part(int(part.request.get("min", 1)), frozenset(each.number for each in hosts if asked(each)))
