"""Enrol, describe and remove resources of any type (contract http-api §6, §7).

A type whose driver keeps resources in a place of the cloud (`Driver.task`), as hosts in the free pool, has a task for
each of them: it makes the cloud match whether the resource is enrolled.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError

from leasehold.cloud.ports import CloudError, CloudPermanentError
from leasehold.db.allocation import in_use, stored_requests_on, unreleased_on
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.property import define_properties
from leasehold.db.resource import (
    find_resource,
    insert_resource,
    last_resource,
    put_properties,
    remove_resource,
    sharing,
    update_resources,
)
from leasehold.db.task import LEASE, add_task_by, add_task_once, call_off_task, hurry_task
from leasehold.leasing.health import judge
from leasehold.leasing.queries import get_resource
from leasehold.model.errors import (
    CloudUnavailableError,
    ConflictError,
    DuplicateError,
    InUseError,
    InvalidInputError,
    NotFoundError,
)
from leasehold.model.properties import names, parse
from leasehold.model.resource import ALWAYS_KNOWN, Health

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.enrolment import Discovery
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

UNFINISHED = timedelta(seconds=30)
"""How long after its beginning an incomplete enrolment is undone."""

Standing = tuple[int, bool]
"""The number of a resource's last enrolment, and whether it is still enrolled; every enrolment has a new number."""


def enrol(
    service: Service, type_name: str, description: Mapping[str, Any], properties: Mapping[str, str] | None = None
) -> Resource:
    """Enrol what the description finds in the cloud.

    The cloud is changed first: every call may be repeated, so a second try works after a failure half-way. The
    resource's task is written before, in case this process dies, and called off afterwards. If the task has already
    begun, or a removal or another enrolment changes the same thing meanwhile, the task is made due once more.
    Raises what the driver's `discover` raises, InvalidInputError for a property that is named like an attribute,
    DuplicateError, the driver's error for a shared attribute, and CloudUnavailableError.
    """
    type_ = service.types.get(type_name)
    enrolment = _Enrolment(service, type_, description, properties or {})
    return enrolment.run()


class _Enrolment:
    """One enrolment: what is found, written and undone."""

    def __init__(
        self, service: Service, type_: ResourceType, description: Mapping[str, Any], properties: Mapping[str, str]
    ) -> None:
        """Nothing has been found yet."""
        self._service = service
        self._type = type_
        self._description = description
        self._properties = properties
        self._by = service.now() + UNFINISHED

    def run(self) -> Resource:
        """Enrol it."""
        service, driver = self._service, self._type.driver
        try:
            found = driver.discover(service.cloud, service.settings.cloud, self._description)
            self._check_properties(found)
            with service.db.reading() as connection:
                # Before the cloud is changed: a resource in use must not be moved.
                self._check_new(connection, found)
            if driver.task:
                service.db.transact(lambda connection: add_task_by(connection, driver.task, found.id, self._by))
                driver.place(service.cloud, service.settings.cloud, found.attributes, leased=False)
        except CloudError as error:
            what = self._type.kind.described(self._description)
            message = f"The cloud cannot be asked about {what} now: {error}. Try again later."
            raise CloudUnavailableError(message) from error
        try:
            service.db.transact(lambda connection: self._insert(connection, found))
        except (IntegrityError, DuplicateError):
            # The first enrolment may already be leased, and our call may have moved the resource.
            self._look_again(found.id)
            raise self._type.kind.duplicate(found.reference) from None
        except ConflictError:
            # The shared attribute: the tasks release this one, and restore the place of the first.
            self._look_again(found.id, *self._sharing(found))
            raise
        finally:
            service.wake()
        return get_resource(service, self._type.name, found.id)

    def _check_properties(self, found: Discovery) -> None:
        masking = sorted(self._properties.keys() & (found.attributes.keys() | ALWAYS_KNOWN))
        if masking:
            message = f"{masking[0]!r} is a reserved key and cannot be set. Choose another name."
            raise InvalidInputError(message, field=masking[0])

    def _check_new(self, connection: Connection, found: Discovery) -> None:
        kind, driver = self._type.kind, self._type.driver
        if find_resource(connection, kind.name, found.id) is not None:
            raise kind.duplicate(found.reference)
        if driver.shared is not None:
            others = sharing(connection, kind.name, driver.shared, found.attributes[driver.shared])
            if others:
                raise driver.shared_error(found, others[0][1])

    def _insert(self, connection: Connection, found: Discovery) -> None:
        service, kind, driver = self._service, self._type.kind, self._type.driver
        now = service.now()
        generations = lock_pools(connection, {kind.pool})
        self._check_new(connection, found)
        health, down_since = judge(found.report, now, service.settings.manager.failure_grace)
        values = {
            "id": found.id,
            "type": kind.name,
            "pool": kind.pool,
            "reference": found.reference,
            "capacity": dict(found.capacity),
            "max_unit": dict(found.max_unit),
            "attributes": dict(found.attributes),
            "traits": sorted(found.traits),
            "reservable": health is Health.HEALTHY,
            "health": health,
            "down_since": down_since,
            "created_at": now,
            "generation": generations[kind.pool] + 1,
        }
        number = insert_resource(connection, values)
        if driver.task and not call_off_task(connection, driver.task, found.id, self._by):
            hurry_task(connection, driver.task, found.id, now)
        if self._properties:
            define_properties(connection, kind.name, self._properties, now)
            put_properties(connection, number, self._properties)
        bump_pools(connection, generations)

    def _sharing(self, found: Discovery) -> list[str]:
        driver = self._type.driver
        if driver.shared is None:
            return []
        with self._service.db.reading() as connection:
            others = sharing(connection, self._type.kind.name, driver.shared, found.attributes[driver.shared])
        return [ident for ident, _ in others]

    def _look_again(self, *idents: str) -> None:
        task = self._type.driver.task
        if not task:
            return

        def work(connection: Connection) -> None:
            for ident in sorted(set(idents)):
                add_task_once(connection, task, ident, self._service.now())

        self._service.db.transact(work)


def change(service: Service, type_name: str, ident: str, properties: Mapping[str, str | None]) -> Resource:
    """Set properties of a resource, all or none; the value None removes a property.

    Raises InUseError for a property that a current or future lease on the resource asked for.
    """
    kind = service.types.get(type_name).kind

    def work(connection: Connection) -> None:
        now = service.now()
        generations = lock_pools(connection, {kind.pool})
        resource = _enrolled(connection, service, type_name, ident)
        changed = {name for name, value in properties.items() if resource.properties.get(name) != value}
        locked = sorted(changed & _names_in_use(service, connection, resource))
        if locked:
            message = (
                f"Leases on {kind.singular} {ident} ask for {', '.join(locked)}, so it cannot change before they end."
            )
            raise InUseError(message, field=locked[0])
        define_properties(connection, type_name, [name for name, value in properties.items() if value is not None], now)
        put_properties(connection, resource.number, properties)
        update_resources(connection, [resource.number], generations[kind.pool] + 1, updated_at=now)
        bump_pools(connection, generations)

    service.db.transact(work)
    return get_resource(service, type_name, ident)


def _names_in_use(service: Service, connection: Connection, resource: Resource) -> frozenset[str]:
    """Return the properties that reservations on a resource ask for; those of a missing plugin are not known."""
    used: set[str] = set()
    for resource_type, stored in stored_requests_on(connection, resource.number, service.now()):
        found = service.types.find(resource_type)
        expressions = {} if found is None else found.kind.expressions(found.kind.load(stored))
        for field, text in expressions.items():
            used |= names(parse(text, field))
    return frozenset(used)


def _enrolled(connection: Connection, service: Service, type_name: str, ident: str) -> Resource:
    resource = find_resource(connection, type_name, ident)
    if resource is None:
        raise NotFoundError(service.types.get(type_name).kind.id_name, ident)
    return resource


def remove(service: Service, type_name: str, ident: str) -> None:
    """Take a resource out of service; raises InUseError while it is allocated to a lease, or in use in the cloud."""
    type_ = service.types.get(type_name)
    kind, driver = type_.kind, type_.driver
    resource = get_resource(service, type_name, ident)
    with service.db.reading() as connection:
        # Refuse because of leases first: what uses it in the cloud is probably theirs.
        _refuse_allocated(connection, kind.singular, resource, service.now())
    try:
        users = driver.users(service.cloud, resource.attributes)
    except CloudError as error:
        message = f"The cloud cannot be asked about {resource.label} now: {error}. Try again later."
        raise CloudUnavailableError(message) from error
    if users is not None:
        raise InUseError(f"The {kind.singular} {resource.label} has {users}; move or delete them first.")

    def work(connection: Connection) -> None:
        generations = lock_pools(connection, {kind.pool})
        enrolled = _enrolled(connection, service, type_name, ident)
        _refuse_allocated(connection, kind.singular, enrolled, service.now())
        remove_resource(connection, enrolled.number, generations[kind.pool] + 1, service.now())
        if driver.task:
            add_task_once(connection, driver.task, ident, service.now())
        bump_pools(connection, generations)

    service.db.transact(work)
    service.wake()


def _refuse_allocated(connection: Connection, singular: str, resource: Resource, now: datetime) -> None:
    if in_use(connection, resource.number, now):
        message = f"The {singular} {resource.label} is allocated to leases; delete them or wait for their end."
        raise InUseError(message)


def converge_resource(service: Service, type_: ResourceType, ident: str) -> Standing | None:
    """Make the cloud match the database for a resource: place an enrolled one, release a removed one.

    The attributes are those of the enrolment, because the cloud may have lost the thing since. Returns the standing of
    the resource when the work began, to be compared with that at its end.
    """
    kind, driver, settings = type_.kind, type_.driver, service.settings.cloud
    with service.db.reading() as connection:
        resource = last_resource(connection, kind.name, ident)
    if resource is None:
        # The first enrolment broke off, so the names are those that the cloud has now.
        attributes = driver.attributes_of(service.cloud, settings, ident)
        if attributes is not None:
            _release(service, type_, attributes)
        return None
    if resource.deleted_at is not None:
        _release(service, type_, resource.attributes)
    else:
        _place(service, type_, resource)
    return resource.number, resource.deleted_at is None


def standing(connection: Connection, type_name: str, ident: str) -> Standing | None:
    """Return the standing of a resource; None if it was never enrolled."""
    resource = last_resource(connection, type_name, ident)
    return None if resource is None else (resource.number, resource.deleted_at is None)


def _release(service: Service, type_: ResourceType, attributes: Mapping[str, Any]) -> None:
    driver = type_.driver
    others: list[str] = []
    if driver.shared is not None:
        with service.db.reading() as connection:
            found = sharing(connection, type_.kind.name, driver.shared, attributes[driver.shared])
        others = [reference for _, reference in found if reference != driver.reference_of(attributes)]
    driver.release(service.cloud, service.settings.cloud, attributes, alone=not others)


def _place(service: Service, type_: ResourceType, resource: Resource) -> None:
    """Place an enrolled resource, unless a lease has it in the cloud, which gives it back itself.

    An allocation is not enough: such a lease may be deleted before it begins, and then nothing would move the resource.
    A lease that takes it meanwhile is made due, and moves it again.
    """
    driver = type_.driver
    with service.db.reading() as connection:
        ids = [held.reservation_id for held in _whole(connection, resource, service.now())]
    try:
        leased = driver.is_leased(service.cloud, resource.attributes, ids)
        driver.place(service.cloud, service.settings.cloud, resource.attributes, leased=leased)
    except CloudPermanentError as error:
        # No retry: nothing waits for it, a retry would not restore the thing, and the audit reports it again.
        log.warning("The enrolled %s %s could not be put in its place: %s", type_.kind.singular, resource.label, error)
        return

    def hurry(connection: Connection) -> None:
        for lease_id in holders(connection, resource, service.now()):
            hurry_task(connection, LEASE, lease_id, service.now())

    service.db.transact(hurry)


def holders(connection: Connection, resource: Resource, now: datetime) -> set[str]:
    """Return the leases that have the whole resource and have not given it back."""
    return {held.lease_id for held in _whole(connection, resource, now)}


def _whole(connection: Connection, resource: Resource, now: datetime) -> list[Allocation]:
    return [held for held in unreleased_on(connection, [resource.number], now) if held.demand is None]
