"""Move resources between the reservation pool and the shared ones (feature E3, decision 0056).

A request writes down where a resource goes, and its task brings it there. A resource leaves the calendar before
anything is done in the cloud, and comes into it after all is done, so nothing is ever promised on one that is under
way. Every step may be repeated: what a manager that died has left is found by the next one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError, CloudPermanentError
from leasehold.db.allocation import in_use, leases_on
from leasehold.db.outbox import put_resource_events
from leasehold.db.resources.resource import find_resource, update_resources
from leasehold.db.task import add_task_once
from leasehold.db.waiting import hurry_tries
from leasehold.leasing.locks import lock
from leasehold.model.backoff import REFUSALS_TO_SHOW, REFUSED_GROWTH, pause_after
from leasehold.model.errors import InUseError, InvalidInputError, some_of
from leasehold.model.event_log import ResourceNews
from leasehold.model.membership import LONGEST_REASON, Membership, on_request
from leasehold.model.resource import Health
from leasehold.model.windows import from_seconds
from leasehold.resource_types.capabilities import Movable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(seconds=10)
"""Between two looks at a resource that is being emptied: nobody tells when the last server has gone."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run of a resource's task left to do: when to go on, and why; None where nothing is left."""

    due: datetime | None = None
    reason: str | None = None
    refusals: int = 0


# ------------------------------------------------------------ asking


def ask_for_pool(
    connection: Connection, type_: ResourceType, resource: Resource, wanted: Membership, now: datetime
) -> Resource:
    """Return the resource on its way into a pool, and make its task due; the caller has its pool locked, and writes it.

    A resource that is there already, or on its way there, comes back as it is. Raises InvalidInputError for a type
    without shared resources, and InUseError for one that is held for a best-effort lease, or that is to be shared while
    something is promised on it.
    """
    driver = type_.driver
    if not isinstance(driver, Movable):
        message = f"A {type_.kind.singular} is always in the reservation pool: leave pool out."
        raise InvalidInputError(message, field="pool")
    after = on_request(resource.membership, wanted)
    if after is resource.membership:
        return resource
    refuse_held(type_, resource)
    refuse_unready(type_, resource)
    if resource.membership is Membership.RESERVATION:
        _refuse_promised(connection, type_.kind.singular, resource, now)
    add_task_once(connection, driver.task, resource.id, now)
    return replace(resource, admitted=False, membership=after, membership_since=now, membership_reason=None)


def columns_of(resource: Resource) -> Mapping[str, Any]:
    """Return what the database keeps of where a resource is; `reservable` is for older processes (decision 0056)."""
    return {
        "membership": resource.membership,
        "membership_since": resource.membership_since,
        "membership_reason": resource.membership_reason,
        "reservable": resource.admitted,
    }


def give_back_with_guests(
    connection: Connection, type_: ResourceType, resource: Resource, lease_id: str, generation: int, now: datetime
) -> bool:
    """Begin to give a resource back at the end of a lease, with all that runs on it; False if that is not possible.

    It is not possible if another lease has something promised on it, if it is held for one, or if it is not in the
    reservation pool. The caller has the pool locked, writes `generation`, which is the one after this decision, and
    bumps the pool. What the lease has of the resource is the caller's to release; its task takes the resource out of
    the free pool.
    """
    driver, others = type_.driver, leases_on(connection, [resource.number], now, None).keys() - {lease_id}
    if others or resource.held_for is not None or resource.membership is not Membership.RESERVATION:
        return False
    if not isinstance(driver, Movable):
        return False
    add_task_once(connection, driver.task, resource.id, now)
    after = replace(resource, admitted=False, membership=Membership.GIVING_BACK, membership_since=now)
    update_resources(connection, [resource.number], generation, **columns_of(after), updated_at=now)
    return True


def refuse_held(type_: ResourceType, resource: Resource) -> None:
    """Raise InUseError, which names the lease, while a resource is held for a best-effort lease."""
    if resource.held_for is not None:
        message = (
            f"The {type_.kind.singular} {resource.label} is held for the best-effort lease "
            f"{resource.held_for}. Wait until that is granted or has timed out, or delete it."
        )
        raise InUseError(message, details={"leases": [resource.held_for]})


def refuse_unready(type_: ResourceType, resource: Resource) -> None:
    """Raise InUseError for a resource that is not ready: it has to be, to be emptied, moved or removed."""
    if resource.readiness is None:
        return
    why, what = "is in use until something is promised on it", "Disable it, and try again when it is ready"
    if resource.expected_at is not None:
        why = "is not there yet"
        what = "Say that it has arrived, or delete its change of capacity (GET /v1/capacity/changes)"
    elif resource.health is Health.ASLEEP:
        why, what = "is asleep", "Wake it, and try again when it is awake"
    raise InUseError(f"The {type_.kind.singular} {resource.label} {why}. {what}.")


def _refuse_promised(connection: Connection, singular: str, resource: Resource, now: datetime) -> None:
    """Raise InUseError, which names the leases, while something is allocated on a resource or not released."""
    if not in_use(connection, resource.number, now):
        return
    found = leases_on(connection, [resource.number], now, None)
    if not found:
        message = f"The {singular} {resource.label} is not released yet by a lease that has ended; try again later."
        raise InUseError(message, field="pool")
    first = from_seconds(min(found.values()))
    message = (
        f"The {singular} {resource.label} is promised to leases: {some_of(list(found))}, the first from "
        f"{first:%Y-%m-%d %H:%M} on. Delete them, or wait for their end; `disabled` keeps new ones away until then."
    )
    raise InUseError(message, field="pool", details={"leases": list(found), "from": first.isoformat()})


# ------------------------------------------------------------ moving


def bring_where_it_belongs(
    service: Service, type_: ResourceType, driver: Movable, resource: Resource, claim: Claim
) -> Progress:
    """Do what there is to do for a resource that is shared, or on its way; `claim` counts the tries so far.

    Raises CloudError for a shared one that cannot be left as it should be.
    """
    if resource.membership is Membership.DRAWING:
        return _draw(service, type_, driver, resource, claim)
    try:
        driver.share(service.cloud, service.settings.cloud, resource.attributes)
    except CloudError as error:
        return again(service, claim, f"Waiting for the cloud: {error}", error)
    if resource.membership is Membership.GIVING_BACK:
        _arrive(service, type_, resource, Membership.SHARED)
    return Progress()


def _draw(service: Service, type_: ResourceType, driver: Movable, resource: Resource, claim: Claim) -> Progress:
    failure: CloudError | None = None
    try:
        left = driver.draw(service.cloud, service.settings.cloud, resource.attributes)
        if left is None:
            _arrive(service, type_, resource, Membership.RESERVATION)
            return Progress()
        reason = f"It still has {left}"
    except CloudError as error:
        failure, reason = error, str(error)
    refused = isinstance(failure, CloudPermanentError) and claim.refusals + 1 >= REFUSALS_TO_SHOW
    limit = (resource.membership_since or service.now()) + service.settings.cloud.draw_limit
    if refused or service.now() >= limit:
        seconds = int(service.settings.cloud.draw_limit.total_seconds())
        why = "The cloud refused" if refused else f"It was not empty after {seconds} seconds"
        _fail(service, type_, resource, f"{why}: {reason}.")
        return Progress(due=service.now())
    log.info("The %s %s is not in the reservation pool yet: %s", type_.kind.singular, resource.label, reason)
    progress = again(service, claim, reason, failure)
    return replace(progress, due=min(limit, progress.due or limit))


def again(service: Service, claim: Claim, reason: str, failure: CloudError | None = None) -> Progress:
    """Return when to try again: soon while it is being emptied, later the more often the cloud has failed."""
    settings = service.settings.manager
    first = settings.retry_first_seconds
    if isinstance(failure, CloudPermanentError):
        most = settings.retry_refused_seconds
        pause = pause_after(claim.refusals + 1, first=first, most=most, growth=REFUSED_GROWTH)
        return Progress(service.now() + pause, reason, claim.refusals + 1)
    most = settings.retry_most_seconds if failure else LONGEST_PAUSE.total_seconds()
    return Progress(service.now() + pause_after(claim.attempts, first=first, most=most), reason, claim.refusals)


def _arrive(service: Service, type_: ResourceType, resource: Resource, there: Membership) -> None:
    """Record that a resource is in its pool now."""

    def write(connection: Connection, present: Resource, now: datetime) -> Resource:
        drawn = there is Membership.RESERVATION
        works = drawn and present.health is Health.HEALTHY
        after = replace(present, membership=there, membership_since=now, admitted=works)
        if drawn:
            tell_move(connection, ResourceNews.DRAWN, after, now)
        elif after.membership_reason is None:
            tell_move(connection, ResourceNews.GIVEN_BACK, after, now)
        return after

    if _record(service, type_, resource, write):
        log.info("The %s %s is in the pool %s now", type_.kind.singular, resource.label, there)


def _fail(service: Service, type_: ResourceType, resource: Resource, reason: str) -> None:
    """Record that a draw has failed: the resource goes back to the shared ones, as it was."""

    def write(connection: Connection, present: Resource, now: datetime) -> Resource:
        why = reason[:LONGEST_REASON]
        after = replace(present, membership=Membership.GIVING_BACK, membership_since=now, membership_reason=why)
        tell_move(connection, ResourceNews.DRAW_FAILED, after, now)
        return after

    if _record(service, type_, resource, write):
        text = "The %s %s could not be drawn into the reservation pool, and goes back as it was. %s"
        log.warning(text, type_.kind.singular, resource.label, reason)


def _record(
    service: Service, type_: ResourceType, seen: Resource, write: Callable[[Connection, Resource, datetime], Resource]
) -> bool:
    """Write the resource that `write` returns, unless something else has been asked of it since it was `seen`."""

    def work(connection: Connection) -> bool:
        locks = lock(connection, {type_.kind.pool}, service.now)
        present = find_resource(connection, type_.name, seen.id)
        if present is None or _move_of(present) != _move_of(seen):
            return False
        after = write(connection, present, locks.now)
        values = {**columns_of(after), "updated_at": locks.now}
        update_resources(connection, [after.number], locks.next(type_.kind.pool), **values)
        locks.move(freed=after.pooled)
        if after.held_for is not None:
            hurry_tries(connection, [after.held_for], locks.now)
        return True

    done = service.db.transact(work)
    if done:
        service.wake()
    return done


def _move_of(resource: Resource) -> tuple[int, Membership, datetime | None]:
    return resource.number, resource.membership, resource.membership_since


def tell_move(connection: Connection, news: ResourceNews, resource: Resource, now: datetime) -> None:
    """Record an event of a resource that has to do with its pool, with the pool, and why the last draw failed."""
    more = {"pool": resource.membership, "pool_reason": resource.membership_reason}
    put_resource_events(connection, news, [resource], now, more)
