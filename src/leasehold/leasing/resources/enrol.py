"""Enrol resources of any type: what an administrator describes, found in a cloud and put where it belongs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.property import define_properties
from leasehold.db.resources.resource import (
    find_resource,
    insert_resource,
    put_properties,
    resources_by_number,
    sharing,
    update_resources,
)
from leasehold.db.task import add_task_once, call_off_task, is_claimed
from leasehold.leasing.locks import lock
from leasehold.leasing.reading.queries import get_resource
from leasehold.leasing.resources.health import judge
from leasehold.leasing.resources.membership import tell_move
from leasehold.model.errors import CloudUnavailableError, ConflictError, DuplicateError, InvalidInputError
from leasehold.model.event_log import ResourceNews
from leasehold.model.membership import Membership
from leasehold.model.resource import ALWAYS_KNOWN, Health, Restriction
from leasehold.resource_types.capabilities import Enrollable, Exclusive, Movable, Placed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.enrolment import Discovery
    from leasehold.resource_types.registry import ResourceType

UNFINISHED = timedelta(seconds=30)
"""How long after its beginning an incomplete enrolment is undone."""


def enrol(
    service: Service,
    type_name: str,
    description: Mapping[str, Any],
    properties: Mapping[str, str] | None = None,
    restriction: Restriction | None = None,
    planned: Resource | None = None,
) -> Resource:
    """Enrol what the description finds in the cloud; `restriction` None means that everybody may use it at once.

    It may be one that was `planned`: then it takes the place of that, and what is promised on it stays, for healing to
    replace what does not fit.

    The cloud is changed first: every call may be repeated, so a second try works after a failure half-way. The
    resource's task is written before, in case this process dies, and called off afterwards. It is due after all the
    calls, even where a removal had made it due already: what runs sooner does not see what is placed later. If the task
    had already begun, or a removal or another enrolment changes the same thing meanwhile, it is made due once more.
    Raises what the driver's `discover` raises, InvalidInputError for a property that is named like an attribute,
    DuplicateError, the driver's error for a shared attribute, and CloudUnavailableError.
    """
    type_ = service.types.get(type_name)
    if not isinstance(type_.driver, Enrollable):
        raise InvalidInputError("Resources of this type cannot be enrolled.", field="resource_type")
    by = service.now() + UNFINISHED
    restriction = restriction or Restriction()
    return _Enrolment(
        service, type_, type_.driver, description, properties or {}, restriction, by, planned=planned
    ).run()


@dataclass(slots=True)
class _Enrolment:
    """One enrolment: what is found, written and undone; `by` is when it is undone if it is not complete."""

    service: Service
    type: ResourceType
    driver: Enrollable
    description: Mapping[str, Any]
    properties: Mapping[str, str]
    restriction: Restriction
    by: datetime
    overlaps: bool = False
    planned: Resource | None = None

    def run(self) -> Resource:
        """Enrol it."""
        service, driver = self.service, self.driver
        try:
            found = driver.discover(service.cloud, service.settings.cloud, self.description)
            self._check_properties(found)
            with service.db.reading() as connection:
                # Before the cloud is changed: a resource in use must not be moved.
                self._check_new(connection, found)
            if isinstance(driver, Placed):
                task = driver.task
                self.overlaps = service.db.transact(lambda connection: self._announce(connection, task, found.id))
                self._put(driver, found)
        except CloudError as error:
            what = self.type.kind.described(self.description)
            message = f"The cloud cannot be asked about {what} now: {error}. Try again later."
            raise CloudUnavailableError(message) from error
        try:
            service.db.transact(lambda connection: self._insert(connection, found))
        except (IntegrityError, DuplicateError):
            # The first enrolment may already be leased, and our call may have moved the resource.
            self._look_again(found.id)
            raise self.type.kind.duplicate(found.reference) from None
        except ConflictError:
            # The shared attribute: the tasks release this one, and restore the place of the first.
            with service.db.reading() as connection:
                others = self._beside(connection, found)
            self._look_again(found.id, *(ident for ident, _ in others))
            raise
        finally:
            service.wake()
        return get_resource(service, self.type.name, found.id)

    def _put(self, driver: Placed, found: Discovery) -> None:
        cloud, settings = self.service.cloud, self.service.settings.cloud
        if isinstance(driver, Movable) and found.membership is not Membership.RESERVATION:
            driver.share(cloud, settings, found.attributes)
        else:
            driver.place(cloud, settings, found.attributes, leased=False)

    def _announce(self, connection: Connection, task: str, ident: str) -> bool:
        """Write the task that undoes the enrolment; say whether it has begun already, for something else."""
        add_task_once(connection, task, ident, self.by)
        return is_claimed(connection, task, ident)

    def _beside(self, connection: Connection, found: Discovery) -> list[tuple[str, str]]:
        """Return id and reference of the enrolled resources that have the attribute which only one may have."""
        shared = self.driver.shared if isinstance(self.driver, Exclusive) else None
        return sharing(connection, self.type.name, shared, found.attributes)

    def _check_properties(self, found: Discovery) -> None:
        masking = sorted(self.properties.keys() & (found.attributes.keys() | ALWAYS_KNOWN))
        if masking:
            message = f"{masking[0]!r} is a reserved key and cannot be set. Choose another name."
            raise InvalidInputError(message, field=masking[0])

    def _check_new(self, connection: Connection, found: Discovery) -> None:
        kind, driver = self.type.kind, self.driver
        if find_resource(connection, kind.name, found.id) is not None:
            raise kind.duplicate(found.reference)
        place = self.planned
        others = [each for each in self._beside(connection, found) if place is None or each[0] != place.id]
        if others and isinstance(driver, Exclusive):
            other = find_resource(connection, kind.name, others[0][0])
            if other is not None and other.expected_at is not None:
                message = (
                    f"The {kind.singular} {other.reference} is planned. Say that it has arrived, by its change of "
                    "capacity (GET /v1/capacity/changes)."
                )
                raise DuplicateError(message)
            raise driver.shared_error(found, others[0][1])

    def _insert(self, connection: Connection, found: Discovery) -> None:
        service, kind, driver = self.service, self.type.kind, self.driver
        locks = lock(connection, {kind.pool}, service.now)
        now = locks.now
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
            "reservable": health is Health.HEALTHY and found.membership is Membership.RESERVATION,
            "membership": found.membership,
            "health": health,
            "down_since": down_since,
        }
        number = self._put_row(connection, values, now, locks.next(kind.pool))
        if isinstance(driver, Placed):
            called_off = call_off_task(connection, driver.task, found.id, self.by)
            if self.overlaps or not called_off:
                # A removal that was under way may have undone what was placed, and be done since.
                add_task_once(connection, driver.task, found.id, now)
        if self.properties:
            define_properties(connection, kind.name, self.properties, now)
            put_properties(connection, number, self.properties)
        locks.move(freed=True)
        enrolled = resources_by_number(connection, [number])
        for each in enrolled.values():
            tell_move(connection, ResourceNews.ENROLLED, each, now)

    def _put_row(self, connection: Connection, values: Mapping[str, Any], now: datetime, generation: int) -> int:
        """Write a new row, or what was found into that of the planned one; return its number."""
        if self.planned is None:
            restriction = self.restriction.columns()
            return insert_resource(connection, {**values, **restriction, "created_at": now, "generation": generation})
        number = self.planned.number
        present = resources_by_number(connection, [number])[number]
        if present.expected_at is None or present.deleted_at is not None:
            message = f"{present.label} is not planned any more: it has arrived, or its change of capacity was deleted."
            raise ConflictError(message)
        there = {"waking_seconds": None, "waking_since": None, "changed_at": now, "updated_at": now}
        update_resources(connection, [number], generation, **values, **there)
        return number

    def _look_again(self, *idents: str) -> None:
        driver = self.driver
        if not isinstance(driver, Placed):
            return
        task = driver.task

        def work(connection: Connection) -> None:
            for ident in sorted(set(idents)):
                add_task_once(connection, task, ident, self.service.now())

        self.service.db.transact(work)
