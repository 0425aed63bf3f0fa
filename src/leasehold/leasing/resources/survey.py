"""Record what the cloud says anew of enrolled resources: capacity, traits and attributes (feature J2).

Each decision from then on counts with what there is. What was promised before and no longer fits is found here again at
each health check until nothing is left of it, and healing gives these reservations something else.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.db.allocation import held_on, stored_requests_on
from leasehold.db.outbox import put_resource_events
from leasehold.db.resources.resource import (
    changed_in_the_cloud,
    failed_resources,
    resources_by_number,
    update_resources,
)
from leasehold.leasing.locks import lock
from leasehold.model.allocation import taken_by
from leasehold.model.event_log import ResourceNews

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.enrolment import Discovery
    from leasehold.resource_types.registry import ResourceType, ResourceTypes

log = logging.getLogger(__name__)


def record_survey(service: Service, type_: ResourceType, found: Mapping[int, Discovery]) -> None:
    """Write what was found for these resources, by number, where it is something else than before."""

    def work(connection: Connection) -> list[Resource]:
        pool = type_.kind.pool
        locks = lock(connection, {pool}, service.now)
        now = locks.now
        changed = []
        for number, each in sorted(resources_by_number(connection, found).items()):
            news = differences(each, found[number])
            if news and each.deleted_at is None:
                changed.append(each)
                update_resources(connection, [number], locks.next(pool), **news, changed_at=now, updated_at=now)
        if changed:
            locks.move(freed=True)
            after = resources_by_number(connection, [each.number for each in changed])
            put_resource_events(connection, ResourceNews.CHANGED, list(after.values()), now)
        return changed

    for each in service.db.transact(work):
        what = "; ".join(_told(each, found[each.number]))
        log.warning("The %s %s has changed in the cloud: %s", type_.kind.singular, each.label, what)


def allocations_beyond(
    types: ResourceTypes, connection: Connection, changed: Collection[int], now: datetime
) -> list[Allocation]:
    """Return what is allocated beyond what these resources, given by number, have now.

    What a type asks for whose plugin is missing or raises is not known, and counts as met.
    """
    if not changed:
        return []
    held: dict[int, list[Allocation]] = defaultdict(list)
    for each in held_on(connection, changed, now):
        held[each.resource_number].append(each)
    requests = stored_requests_on(connection, changed, now)
    asked = {
        ident: partial(is_asked_for, types, resource_type, stored)
        for ident, (resource_type, stored) in requests.items()
    }
    # What is promised on a disabled or held resource stays, also where an expression asks for $reservable.
    found = resources_by_number(connection, held).items()
    resources = {number: replace(each, disabled=False, held_for=None) for number, each in found}
    return [over for number, mine in held.items() for over in beyond(resources[number], mine, asked, now)]


def any_broken(types: ResourceTypes, connection: Connection, held: Iterable[Allocation], now: datetime) -> bool:
    """Say whether one of these live allocations is on a resource that has failed, or that has less than it takes."""
    kept = {each.id: each.resource_number for each in held}
    if not failed_resources(connection).keys().isdisjoint(kept.values()):
        return True
    changed = changed_in_the_cloud(connection).keys() & set(kept.values())
    return any(each.id in kept for each in allocations_beyond(types, connection, changed, now))


def is_asked_for(types: ResourceTypes, resource_type: str, stored: Mapping[str, Any], resource: Resource) -> bool:
    """Say whether a resource is what a stored request asks for, room and time aside; True where that is not known."""
    found = types.find(resource_type)
    if found is None:
        return True
    try:
        return found.kind.fits(found.kind.load(stored), resource)
    except Exception:
        log.exception("A bug in %s: what its reservations ask of a resource is not known", resource_type)
        return True


def differences(resource: Resource, found: Discovery) -> dict[str, Any]:
    """Return the columns of a resource that the cloud says otherwise, with what it says."""
    now: dict[str, Any] = {
        "capacity": dict(found.capacity),
        "max_unit": dict(found.max_unit),
        "attributes": {**resource.attributes, **found.attributes},
        "traits": sorted(found.traits),
    }
    before = {name: getattr(resource, name) for name in now} | {"traits": sorted(resource.traits)}
    return {name: value for name, value in now.items() if value != before[name]}


def _told(resource: Resource, found: Discovery) -> Iterator[str]:
    if resource.traits != found.traits:
        yield f"traits were {', '.join(sorted(resource.traits))}, are {', '.join(sorted(found.traits))}"
    for before, after in (
        (resource.capacity, found.capacity),
        (resource.max_unit, found.max_unit),
        (resource.attributes, found.attributes),
    ):
        for name, value in sorted(after.items()):
            if before.get(name) != value:
                yield f"{name} was {before.get(name)}, is {value}"


def is_less(resource: Resource, found: Discovery) -> bool:
    """Say whether it has less of something than before, or other attributes than those that a lease asked for."""
    news = differences(resource, found)
    less = any(found.capacity.get(name, 0) < amount for name, amount in resource.capacity.items())
    limited = any(amount < resource.max_unit.get(name, amount + 1) for name, amount in found.max_unit.items())
    return less or limited or bool(resource.traits - found.traits) or "attributes" in news


def beyond(
    resource: Resource, held: Iterable[Allocation], asked: Mapping[str, Callable[[Resource], bool]], now: datetime
) -> list[Allocation]:
    """Return those of the allocations on a resource that it cannot carry, or that asked for something else.

    `asked` says by the id of a reservation whether a resource is what it asked for; one that is not named asked for
    nothing. A reservation that has begun keeps its place before one that has not, and an older allocation before a
    newer one. What was vacated is never returned, but takes room until it is released.
    """
    carried: list[Allocation] = []
    found: list[Allocation] = []
    for each in sorted(held, key=lambda each: (each.left_at is None, each.window.start > now, each.id)):
        fits = asked.get(each.reservation_id)
        suits = (fits is None or fits(resource)) and _has_room(resource, each, carried)
        (carried if suits or each.left_at is not None else found).append(each)
    return found


def _has_room(resource: Resource, each: Allocation, carried: Sequence[Allocation]) -> bool:
    """Say whether the resource has room for one more allocation at every moment of its window."""
    if each.demand is None:
        return True
    if any(amount > resource.max_unit.get(name, amount) for name, amount in each.demand.items()):
        return False
    start, end = each.window.start, each.window.end
    beside = [other.window for other in carried if other.window.start < end and other.window.end > start]
    # What is taken grows only where an allocation begins.
    for moment in {max(start, window.start) for window in (each.window, *beside)}:
        there = [other for other in carried if other.window.start <= moment < other.window.end]
        for name, amount in taken_by([each, *there]).items():
            if name in each.demand and amount > resource.capacity.get(name, 0):
                return False
    return True
