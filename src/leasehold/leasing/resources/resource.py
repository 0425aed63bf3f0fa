"""Change and remove enrolled resources of any type, and keep them where they belong (contract http-api §6, §7).

A type whose driver keeps resources in a place of the cloud (`Placed`), as hosts in the free pool, has a task for
each of them: it makes the cloud match whether the resource is enrolled.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError, CloudPermanentError
from leasehold.db.allocation import in_use, stored_requests_on, unreleased_on
from leasehold.db.outbox import put_resource_events
from leasehold.db.resources.property import define_properties
from leasehold.db.resources.resource import last_resource, put_properties, remove_resource, sharing, update_resources
from leasehold.db.task import LEASE, add_task_once, hurry_task
from leasehold.db.work import work_for
from leasehold.leasing.locks import lock
from leasehold.leasing.reading.queries import find_enrolled, get_resource
from leasehold.leasing.resources.membership import (
    Progress,
    again,
    ask_for_pool,
    bring_where_it_belongs,
    columns_of,
    refuse_held,
    refuse_unready,
)
from leasehold.model.errors import CloudUnavailableError, InUseError
from leasehold.model.event_log import ResourceNews
from leasehold.model.membership import Membership
from leasehold.model.properties import names, parse
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.capabilities import Exclusive, Movable, Placed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.caller import Caller
    from leasehold.model.resource import Disabling, Resource, Restriction
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

Standing = tuple[int, bool, Membership, "datetime | None"]
"""The number of a resource's last enrolment, whether it is still enrolled, and where it is since when.

Every enrolment has a new number."""


def change(
    service: Service,
    type_name: str,
    ident: str,
    properties: Mapping[str, str | None],
    disabling: Disabling | None = None,
    pool: Membership | None = None,
    restriction: Restriction | None = None,
) -> Resource:
    """Set properties of a resource, and whether it is disabled, all or none; the value None removes a property.

    A disabled resource keeps what is promised on it, and gets nothing new (decision 0052). So does one that becomes one
    for other projects by a `restriction` (decisions 0077 and 0108). `pool` begins to move it
    there; who asks looks at it again. Raises NotFoundError, InUseError for a property that a current or future lease
    on the resource asked for, and what `ask_for_pool` raises.
    """
    type_ = service.types.get(type_name)
    kind = type_.kind

    def work(connection: Connection) -> None:
        locks = lock(connection, {kind.pool}, service.now)
        now = locks.now
        resource = find_enrolled(service, connection, type_name, ident)
        changed = {name for name, value in properties.items() if resource.properties.get(name) != value}
        locked = sorted(changed & _names_in_use(service, connection, resource))
        if locked:
            message = (
                f"Leases on {kind.singular} {ident} ask for {', '.join(locked)}, so it cannot change before they end."
            )
            raise InUseError(message, field=locked[0])
        define_properties(connection, type_name, [name for name, value in properties.items() if value is not None], now)
        put_properties(connection, resource.number, properties)
        kept = {name: value for name, value in {**resource.properties, **properties}.items() if value is not None}
        after = replace(resource, properties=kept)
        if restriction is not None:
            after = restriction.applied(after)
        if properties or (after.projects, after.owner) != (resource.projects, resource.owner):
            put_resource_events(connection, ResourceNews.CHANGED, [after], now)
        if disabling is not None:
            after = disabling.applied(after)
            _tell_disabled(connection, resource, after, disabling.by, now)
        values: dict[str, Any] = {"disabled": after.disabled, "disabled_reason": after.disabled_reason}
        if restriction is not None:
            values |= restriction.columns(resource)
        if pool is not None:
            values |= columns_of(ask_for_pool(connection, type_, after, pool, now))
        update_resources(connection, [resource.number], locks.next(kind.pool), updated_at=now, **values)
        locks.move(freed=True)

    service.db.transact(work)
    service.wake()
    return get_resource(service, type_name, ident)


def _tell_disabled(connection: Connection, before: Resource, after: Resource, by: Caller, now: datetime) -> None:
    """Record that an administrator disabled the resource, gave another reason or enabled it; else nothing."""
    if (before.disabled, before.disabled_reason) == (after.disabled, after.disabled_reason):
        return
    news = ResourceNews.DISABLED if after.disabled else ResourceNews.ENABLED
    who = {"user_id": by.user_id, "project_id": by.project_id}
    put_resource_events(connection, news, [after], now, {"by": who})


def _names_in_use(service: Service, connection: Connection, resource: Resource) -> frozenset[str]:
    """Return the properties that reservations on a resource ask for; those of a missing plugin are not known."""
    used: set[str] = set()
    for resource_type, stored in stored_requests_on(connection, [resource.number], service.now()).values():
        found = service.types.find(resource_type)
        expressions = {} if found is None else found.kind.expressions(found.kind.load(stored))
        for field, text in expressions.items():
            used |= names(parse(text, field))
    return frozenset(used)


def remove(service: Service, type_name: str, ident: str) -> None:
    """Take a resource out of service; raises InUseError while it is allocated to a lease, or in use in the cloud."""
    type_ = service.types.get(type_name)
    kind, driver = type_.kind, type_.driver
    resource = get_resource(service, type_name, ident)
    with service.db.reading() as connection:
        # Refuse because of leases first: what uses it in the cloud is probably theirs.
        _refuse_allocated(connection, kind.singular, resource, service.now())
    try:
        # What is not in the reservation pool serves others, and goes on with that.
        users = None
        if isinstance(driver, Placed) and resource.pooled:
            users = driver.users(service.cloud, resource.attributes)
    except CloudError as error:
        message = f"The cloud cannot be asked about {resource.label} now: {error}. Try again later."
        raise CloudUnavailableError(message) from error
    if users is not None:
        raise InUseError(f"The {kind.singular} {resource.label} has {users}; move or delete them first.")

    def work(connection: Connection) -> None:
        locks = lock(connection, {kind.pool}, service.now)
        enrolled = find_enrolled(service, connection, type_name, ident)
        _refuse_allocated(connection, kind.singular, enrolled, locks.now)
        refuse_held(type_, enrolled)
        refuse_unready(type_, enrolled)
        remove_resource(connection, enrolled.number, locks.next(kind.pool), locks.now)
        if isinstance(driver, Placed):
            add_task_once(connection, driver.task, ident, service.now())
        locks.move()
        put_resource_events(connection, ResourceNews.REMOVED, [replace(enrolled, admitted=False)], service.now())

    service.db.transact(work)
    service.wake()


def _refuse_allocated(connection: Connection, singular: str, resource: Resource, now: datetime) -> None:
    if in_use(connection, resource.number, now):
        message = f"The {singular} {resource.label} is allocated to leases; delete them or wait for their end."
        raise InUseError(message)


def converge_resource(
    service: Service, type_: ResourceType, driver: Placed, claim: Claim
) -> tuple[Standing | None, Progress]:
    """Make the cloud match the database for the claim's resource: place an enrolled one, release a removed one.

    The attributes are those of the enrolment, because the cloud may have lost the thing since. Returns the standing of
    the resource when the work began, to be compared with that at its end, and what is left to do.
    """
    ident = claim.subject
    settings = service.settings.cloud
    with service.db.reading() as connection:
        resource = last_resource(connection, type_.name, ident)
    if resource is None:
        # The first enrolment broke off, so the names are those that the cloud has now.
        attributes = driver.attributes_of(service.cloud, settings, ident)
        if attributes is not None:
            _release(service, driver, type_.name, ident, attributes)
        return None, Progress()
    progress = Progress()
    if resource.deleted_at is not None:
        steps = [partial(_release, service, driver, type_.name, ident, resource.attributes)]
        if isinstance(driver, Movable) and resource.membership.moves:
            steps.insert(0, partial(driver.share, service.cloud, settings, resource.attributes))
        do_all(steps)
    elif resource.readiness is not None:
        # It is closed, and comes back to its place when it wakes up.
        progress = Progress()
    elif isinstance(driver, Movable) and resource.membership is not Membership.RESERVATION:
        progress = bring_where_it_belongs(service, type_, driver, resource, claim)
    else:
        progress = _place(service, type_.kind.singular, driver, resource, claim)
    return _standing_of(resource), progress


def standing(connection: Connection, type_name: str, ident: str) -> Standing | None:
    """Return the standing of a resource; None if it was never enrolled."""
    resource = last_resource(connection, type_name, ident)
    return None if resource is None else _standing_of(resource)


def _standing_of(resource: Resource) -> Standing:
    return resource.number, resource.deleted_at is None, resource.membership, resource.membership_since


def _release(service: Service, driver: Placed, type_name: str, ident: str, attributes: Mapping[str, Any]) -> None:
    shared = driver.shared if isinstance(driver, Exclusive) else None
    with service.db.reading() as connection:
        found = sharing(connection, type_name, shared, attributes)
    others = [other for other, _ in found if other != ident]
    driver.release(service.cloud, service.settings.cloud, attributes, alone=not others)


def _place(service: Service, singular: str, driver: Placed, resource: Resource, claim: Claim) -> Progress:
    """Place an enrolled resource, unless a lease has it in the cloud, which gives it back itself.

    An allocation is not enough: such a lease may be deleted before it begins, and then nothing would move the resource.
    A lease that takes it meanwhile is made due, and moves it again. What a late call of a draw may have done is undone
    when no such lease is at work, because it may be emptying the resource by the same means.
    """
    with service.db.reading() as connection:
        whole = _whole(connection, resource, service.now())
        ids = [held.reservation_id for held in whole]
        idle = not _at_work(connection, whole, service.now())
    try:
        leased = driver.is_leased(service.cloud, resource.attributes, ids)
        driver.place(service.cloud, service.settings.cloud, resource.attributes, leased=leased)
        if isinstance(driver, Movable) and idle:
            driver.reopen(service.cloud, resource.attributes)
    except CloudPermanentError as error:
        # No retry: nothing waits for it, a retry would not restore the thing, and the audit reports it again.
        log.warning("The enrolled %s %s could not be put in its place: %s", singular, resource.label, error)
        return Progress()

    def hurry(connection: Connection) -> None:
        for lease_id in holders(connection, resource, service.now()):
            hurry_task(connection, LEASE, lease_id, service.now())

    service.db.transact(hurry)
    if idle or not isinstance(driver, Movable):
        return Progress()
    return again(service, claim, "A lease that has it is at work")


def _at_work(connection: Connection, held: Collection[Allocation], now: datetime) -> bool:
    """Say whether the task of a lease that has one of these allocations is claimed, due, or to be tried again."""
    works = work_for(connection, LEASE, {each.lease_id for each in held}) if held else {}
    return any(work.busy(now) for work in works.values())


def holders(connection: Connection, resource: Resource, now: datetime) -> set[str]:
    """Return the leases that have the whole resource and have not given it back."""
    return {held.lease_id for held in _whole(connection, resource, now)}


def _whole(connection: Connection, resource: Resource, now: datetime) -> list[Allocation]:
    return [held for held in unreleased_on(connection, [resource.number], now) if held.demand is None]
