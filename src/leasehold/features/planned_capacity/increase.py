"""Hosts that will be there from a date: planned, put off, arrived or withdrawn (feature G5, decision 0146).

A planned host is a resource that the cloud does not have yet. It is ready from its date on, so the calendar lets
nothing be promised on it that begins before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold.db.allocation import in_use, leases_on
from leasehold.db.leases.lease import find_lease
from leasehold.db.outbox import put_resource_events
from leasehold.db.resources.property import define_properties
from leasehold.db.resources.resource import (
    insert_resource,
    put_properties,
    remove_resource,
    resources_by_number,
    update_resources,
)
from leasehold.db.task import LEASE, hurry_task
from leasehold.features.planned_capacity import store
from leasehold.features.planned_capacity.late import give_others, replace_early, replace_unfit
from leasehold.features.planned_capacity.model import CapacityConflictError, Change, ChangeKind, Hold
from leasehold.leasing.locks import lock
from leasehold.leasing.maintenance.model import MaintenanceDraft, OnConflict
from leasehold.leasing.maintenance.use import make_maintenance
from leasehold.leasing.resources.enrol import enrol
from leasehold.model.caller import Caller
from leasehold.model.errors import DuplicateError, InUseError, InvalidDateError, LeaseholdError, NotFoundError
from leasehold.model.event_log import ResourceNews
from leasehold.model.resource import HOST, HOST_POOL
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import OPEN_END

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.planned_capacity.model import Amendment, IncreaseDraft, PlannedHost
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource

LISTED = 1_000
"""How many leases a refusal lists."""


def plan_increase(service: Service, caller: Caller, draft: IncreaseDraft) -> str:
    """Plan hosts that the cloud will have from a date on, and return the id of the change.

    Raises InvalidDateError for a date that is over, and DuplicateError for a name that an enrolled host has.
    """

    def work(connection: Connection) -> Change:
        locks = lock(connection, {HOST_POOL}, service.now)
        now = locks.now
        _check_dates(draft.start, draft.end, now)
        known = store.enrolled_names(connection, HOST, draft.hosts)
        if known:
            message = f"A host {known[0]} is enrolled or planned already; leave it out, or name the new one otherwise."
            raise DuplicateError(message, field="hosts")
        change = Change(
            id=str(uuid4()),
            kind=ChangeKind.INCREASE,
            name=draft.name,
            user_id=caller.user_id,
            project_id=caller.project_id,
            starts_at=draft.start,
            first_at=draft.start,
            ends_at=draft.end,
            promise=draft.promise,
            created_at=now,
        )
        store.add_change(connection, change)
        # Nothing is promised on hosts that go again before their end is held.
        promise = draft.promise and draft.end is None
        numbers = [insert_resource(connection, _row(draft, name, locks, promise=promise)) for name in draft.hosts]
        store.add_planned(connection, change.id, numbers)
        if draft.properties:
            define_properties(connection, HOST, draft.properties, now)
            for number in numbers:
                put_properties(connection, number, draft.properties)
        locks.move(freed=promise)
        planned = resources_by_number(connection, numbers)
        put_resource_events(connection, ResourceNews.ENROLLED, list(planned.values()), now)
        return change

    change = service.db.transact(work)
    if change.ends_at is not None:
        hold_end(service, change)
    service.wake()
    return change.id


def hold_end(service: Service, change: Change) -> None:
    """Hold the hosts of an increase from its end on, and open them for promises in the same transaction."""
    with service.db.reading() as connection:
        hosts = [each.resource for each in store.planned_of(connection).get(change.id, ())]
    caller = Caller(change.user_id, change.project_id)
    draft = MaintenanceDraft(change.name, change.end, OPEN_END, [each.id for each in hosts])

    def along(connection: Connection, lease: Lease) -> None:
        # As it is under the lock of the pool: it may have been amended, or hosts have arrived.
        promise = _found(connection, change.id).promise
        store.add_hold(connection, Hold(lease.id, change.id))
        locks = lock(connection, {HOST_POOL}, service.now)
        numbers = [each.resource.number for each in _absent(connection, change.id)]
        update_resources(connection, numbers, locks.next(HOST_POOL), reservable=promise)
        locks.move(freed=promise)

    make_maintenance(service, caller, draft, along)


def amend_increase(service: Service, ident: str, amendment: Amendment) -> None:
    """Put hosts that are not there yet off to another date, or say whether leases are promised on them.

    Leases that begin before the new date get other hosts; those that find none are told, and lose these.
    """

    def work(connection: Connection) -> None:
        locks = lock(connection, {HOST_POOL}, service.now)
        change = _found(connection, ident)
        start = amendment.start or change.starts_at
        if amendment.start is not None:
            _check_dates(start, change.ends_at, locks.now)
        promise = change.promise if amendment.promise is None else amendment.promise
        later = start > change.starts_at
        store.write_change(
            connection,
            ident,
            starts_at=start,
            promise=promise,
            delays=change.delays + later,
            updated_at=locks.now,
        )
        absent = [each.resource for each in _absent(connection, ident)]
        # Nothing is promised on hosts that are overdue, nor on those whose end is not held yet.
        held = change.ends_at is None or ident in store.holds_of(connection)
        values = store.values_of(start, promise=promise and held and start > locks.now)
        numbers = [each.number for each in absent]
        update_resources(connection, numbers, locks.next(HOST_POOL), **values, updated_at=locks.now)
        for number in numbers:
            store.write_failure(connection, number, None)
        locks.move(freed=True)
        after = list(resources_by_number(connection, numbers).values())
        put_resource_events(connection, ResourceNews.CHANGED, after, locks.now)

    service.db.transact(work)
    service.wake()
    replace_early(service)


def arrive(service: Service, ident: str, names: Mapping[str, str]) -> None:
    """Enrol what has arrived of an increase: each planned host by its name, or by the name that it has in `names`.

    What cannot be enrolled keeps the reason; if that is all, the first is raised. Raises NotFoundError for a name that
    is not planned.
    """
    with service.db.reading() as connection:
        _found(connection, ident)
        absent = {each.resource.reference: each.resource for each in _absent(connection, ident)}
    unknown = sorted(names.keys() - absent.keys())
    if unknown:
        raise NotFoundError("hosts", unknown[0])
    wanted = names or {name: name for name in absent}
    errors = [error for name, real in wanted.items() if (error := _arrived(service, absent[name], real)) is not None]
    if errors and len(errors) == len(wanted):
        raise errors[0]


def _arrived(service: Service, planned: Resource, real: str) -> LeaseholdError | None:
    """Enrol one host in the place of the planned one; return why that is not possible."""
    try:
        enrol(service, HOST, {"name": real}, planned=planned)
    except LeaseholdError as error:
        message = error.message
        service.db.transact(lambda connection: store.write_failure(connection, planned.number, message))
        return error

    def hurry(connection: Connection) -> None:
        now = service.now()
        store.write_failure(connection, planned.number, None)
        # Starts that wait for it go on at once.
        for lease_id in leases_on(connection, [planned.number], now, now):
            hurry_task(connection, LEASE, lease_id, now)

    service.db.transact(hurry)
    replace_unfit(service, planned.number)
    service.wake()
    return None


def withdraw(service: Service, ident: str, on_conflict: OnConflict) -> None:
    """Promise nothing on the planned hosts of an increase, and give leases others in their place.

    Raises CapacityConflictError while leases are promised on them, unless `on_conflict` is `force`.
    """

    def check(connection: Connection) -> list[int]:
        locks = lock(connection, {HOST_POOL}, service.now)
        numbers = [each.resource.number for each in _absent(connection, ident)]
        leases = [
            find_lease(connection, each, offered=True) for each in leases_on(connection, numbers, locks.now, None)
        ]
        concerned = [each for each in leases if each is not None and not each.is_maintenance]
        if concerned and on_conflict is not OnConflict.FORCE:
            raise _conflict(concerned)
        store.write_change(connection, ident, promise=False, updated_at=locks.now)
        update_resources(connection, numbers, locks.next(HOST_POOL), reservable=False, updated_at=locks.now)
        locks.move()
        return numbers

    numbers = service.db.transact(check)
    give_others(service, numbers, None, None, HealPolicy.REPLACE)


def forget_increase(service: Service, ident: str) -> None:
    """Remove an increase with the hosts that are not there; those that have arrived stay.

    Raises InUseError if an offer or a start still has one of them.
    """

    def work(connection: Connection) -> None:
        locks = lock(connection, {HOST_POOL}, service.now)
        absent = [each.resource for each in _absent(connection, ident)]
        for each in absent:
            if in_use(connection, each.number, locks.now):
                message = (
                    f"An offer, a window or a lease that starts still has the planned host {each.label}. Nothing more "
                    "is promised on it; delete the change again when that is over."
                )
                leases = sorted(leases_on(connection, [each.number], locks.now, None))
                raise InUseError(message, field="change_id", details={"leases": leases})
            remove_resource(connection, each.number, locks.next(HOST_POOL), locks.now)
        store.forget_change(connection, ident)
        locks.move()
        gone = [replace(each, admitted=False) for each in absent]
        put_resource_events(connection, ResourceNews.REMOVED, gone, locks.now)

    service.db.transact(work)


def _conflict(leases: Sequence[Lease]) -> CapacityConflictError:
    message = (
        f"{len(leases)} leases are promised on hosts that are not there yet. Delete the change with the on_conflict "
        "`force`: they get other hosts, and those that find none are told and lose these."
    )
    listed = [
        {
            "id": each.id,
            "project_id": each.project_id,
            "start_date": each.window.start.isoformat(),
            "end_date": each.window.end.isoformat(),
        }
        for each in leases[:LISTED]
    ]
    return CapacityConflictError(message, field="on_conflict", details={"leases": listed, "count": len(leases)})


def _check_dates(start: datetime, end: datetime | None, now: datetime) -> None:
    if start <= now:
        message = "Planned hosts come later than now; enrol those that are there with POST /v1/os-hosts."
        raise InvalidDateError(message, field="start_date")
    if end is not None and end <= start:
        raise InvalidDateError("The hosts have to go later than they come.", field="end_date")


def _found(connection: Connection, ident: str) -> Change:
    found = store.read_changes(connection, ident)
    if not found:
        raise NotFoundError("change_id", ident)
    return found[0]


def _absent(connection: Connection, ident: str) -> list[PlannedHost]:
    return [each for each in store.planned_of(connection).get(ident, ()) if not each.arrived]


def _row(draft: IncreaseDraft, name: str, locks: Locks, *, promise: bool) -> dict[str, Any]:
    """Return the row of a planned host: it looks as it will when it is there, but for its id."""
    return {
        "id": str(uuid4()),
        "type": HOST,
        "pool": HOST_POOL,
        "reference": name,
        "capacity": dict(draft.size),
        "max_unit": dict(draft.size),
        "traits": sorted(draft.traits),
        "created_at": locks.now,
        "generation": locks.next(HOST_POOL),
        "attributes": {
            "hypervisor_hostname": name,
            "hypervisor_type": "",
            "hypervisor_version": 0,
            "service_name": name,
            "vcpus": draft.size["VCPU"],
            "memory_mb": draft.size["MEMORY_MB"],
            "local_gb": draft.size["DISK_GB"],
            "cpu_info": "",
            "availability_zone": draft.availability_zone,
            "status": None,
            "trust_id": None,
        },
        **store.values_of(draft.start, promise=promise),
    }
