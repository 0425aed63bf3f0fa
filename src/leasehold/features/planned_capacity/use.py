"""Changes of capacity: decreases and reserves are made here, and all of them shown, amended, deleted and kept up."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from leasehold.cloud.ports import CloudError
from leasehold.db.allocation import leases_on
from leasehold.db.leases.lease import find_leases
from leasehold.db.resources.resource import list_resources
from leasehold.features.planned_capacity import store
from leasehold.features.planned_capacity.increase import amend_increase, arrive, forget_increase, hold_end, withdraw
from leasehold.features.planned_capacity.late import note_overdue, replace_early
from leasehold.features.planned_capacity.model import Change, ChangeKind, ChangeNow, Hold, State
from leasehold.features.planned_capacity.reserve import FIELD, any_matches, fill, release
from leasehold.leasing.dates import earliest
from leasehold.leasing.maintenance.model import MaintenanceDraft, OnConflict
from leasehold.leasing.maintenance.use import make_maintenance
from leasehold.model.errors import InvalidDateError, InvalidInputError, LeaseholdError, NotFoundError
from leasehold.model.resource import HOST
from leasehold.model.windows import OPEN_END
from leasehold.resource_types.capabilities import Enumerable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.planned_capacity.model import Amendment, DecreaseDraft, PlannedHost, ReserveDraft
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease

log = logging.getLogger(__name__)


def list_changes(service: Service) -> list[ChangeNow]:
    """Return all changes by their date."""
    return _read(service, None)


def get_change(service: Service, ident: str) -> ChangeNow:
    """Return one change; raises NotFoundError."""
    found = _read(service, ident)
    if not found:
        raise NotFoundError("change_id", ident)
    return found[0]


def _read(service: Service, ident: str | None) -> list[ChangeNow]:
    now = service.now()
    with service.db.reading() as connection:
        changes = store.read_changes(connection, ident)
        planned, holds = store.planned_of(connection), store.holds_of(connection)
        mine = [each.lease_id for change in changes for each in holds.get(change.id, ())]
        leases = {each.id: each for each in find_leases(connection, mine)}
        return [
            _now(connection, change, planned.get(change.id, ()), holds.get(change.id, ()), leases, now)
            for change in changes
        ]


def _now(
    connection: Connection,
    change: Change,
    hosts: Sequence[PlannedHost],
    holds: Sequence[Hold],
    leases: Mapping[str, Lease],
    now: datetime,
) -> ChangeNow:
    absent = [each.resource.number for each in hosts if not each.arrived]
    held = [leases[each.lease_id] for each in holds if each.lease_id in leases]
    promised = leases_on(connection, absent, now, None).keys() - leases.keys() if absent else ()
    # An operator may have deleted the window of a decrease, as any other.
    kept = bool(held) or change.kind is not ChangeKind.DECREASE
    return ChangeNow(change, _state(change, absent, now) if kept else State.OVER, hosts, held, sorted(promised))


def _state(change: Change, absent: Collection[int], now: datetime) -> State:
    if now < change.starts_at:
        return State.PLANNED
    if absent:
        return State.OVERDUE
    return State.ACTIVE if now < change.end else State.OVER


def make_decrease(service: Service, caller: Caller, draft: DecreaseDraft) -> str:
    """Take hosts out of what is promised from a date on, and return the id of the change.

    Raises as `make_maintenance` does, MaintenanceConflictError if leases have the hosts and may not lose them.
    """
    end = draft.end or OPEN_END
    change = _change(caller, draft.name, ChangeKind.DECREASE, draft.start, draft.end, service.now())

    def along(connection: Connection, lease: Lease) -> None:
        store.add_change(connection, change)
        store.add_hold(connection, Hold(lease.id, change.id))

    make_maintenance(
        service, caller, MaintenanceDraft(draft.name, draft.start, end, draft.hosts, draft.on_conflict), along
    )
    return change.id


def make_reserve(service: Service, caller: Caller, draft: ReserveDraft) -> str:
    """Hold hosts back from a date on, and return the id of the change; promises that exist are not broken by it.

    Raises InvalidDateError, and InvalidInputError unless it says either an amount or a percentage, and of hosts that
    there are, or that are planned.
    """
    now = service.now()
    if draft.start < earliest(now):
        raise InvalidDateError("A reserve begins now or later.", field="start_date")
    if draft.end is not None and draft.end <= max(draft.start, now):
        raise InvalidDateError("A reserve ends later than it begins, and later than now.", field="end_date")
    _check_size(draft.amount, draft.percent)
    if draft.resource_properties and not any_matches(service, draft.resource_properties):
        message = "No host has these properties, and none is planned that has. GET /v1/os-hosts shows what hosts have."
        raise InvalidInputError(message, field=FIELD)
    made = _change(caller, draft.name, ChangeKind.RESERVE, draft.start, draft.end, now)
    change = replace(made, amount=draft.amount, percent=draft.percent, resource_properties=draft.resource_properties)
    service.db.transact(lambda connection: store.add_change(connection, change))
    fill(service, change)
    return change.id


def _check_size(amount: int | None, percent: int | None) -> None:
    if (amount is None) == (percent is None):
        message = "A reserve is either an amount of hosts or a percentage of those that match: send one of them."
        raise InvalidInputError(message, field="amount")


def _change(
    caller: Caller, name: str, kind: ChangeKind, start: datetime, end: datetime | None, now: datetime
) -> Change:
    return Change(str(uuid4()), kind, name, caller.user_id, caller.project_id, start, start, now, end)


def amend_change(service: Service, ident: str, amendment: Amendment) -> None:
    """Change a date or a promise of an increase, or the size of a reserve.

    Raises NotFoundError, and InvalidInputError for what a change of this kind does not have.
    """
    change = get_change(service, ident).change
    sized = amendment.amount is not None or amendment.percent is not None
    dated = amendment.start is not None or amendment.promise is not None
    if change.kind is ChangeKind.INCREASE and not sized:
        amend_increase(service, ident, amendment)
    elif change.kind is ChangeKind.RESERVE and not dated:
        _check_size(amendment.amount, amendment.percent)
        size = {"amount": amendment.amount, "percent": amendment.percent}
        service.db.transact(lambda connection: store.write_change(connection, ident, **size, updated_at=service.now()))
        fill(service, replace(change, amount=amendment.amount, percent=amendment.percent))
    else:
        message = (
            "An increase has a date and a promise that change, a reserve a size. For anything else make another change "
            "and delete this one."
        )
        raise InvalidInputError(message, field="amount" if sized else "start_date")


def delete_change(service: Service, ident: str, on_conflict: OnConflict = OnConflict.REFUSE) -> None:
    """Delete a change: planned hosts that are not there are removed, and what is held is free again.

    Raises NotFoundError, and for an increase what `withdraw` and `forget_increase` raise.
    """
    change = get_change(service, ident).change
    if change.kind is ChangeKind.INCREASE:
        withdraw(service, ident, on_conflict)
        # What is not promised is no reserve either.
        _fill_reserves(service, list_changes(service))
    with service.db.reading() as connection:
        holds = store.holds_of(connection).get(ident, ())
    for each in holds:
        release(service, each)
    forget_increase(service, ident)


def keep_up(service: Service) -> None:
    """Compare all changes with what there is; each step may be repeated, and goes on where another process stopped."""
    with service.db.reading() as connection:
        if not store.any_planned(connection):
            return
    now = service.now()
    found = list_changes(service)
    for each in found:
        change = each.change
        if change.kind is ChangeKind.INCREASE and change.ends_at is not None and each.hosts and not each.holds:
            hold_end(service, change)
    _fill_reserves(service, found)
    _enrol_due(service)
    replace_early(service)
    with service.db.reading() as connection:
        hosts = [each.resource for found in store.planned_of(connection).values() for each in found]
    overdue = [each for each in hosts if each.expected_at is not None and each.expected_at <= now]
    if overdue:
        note_overdue(service, overdue)


def _fill_reserves(service: Service, found: Sequence[ChangeNow]) -> None:
    for each in found:
        if each.change.kind is ChangeKind.RESERVE:
            fill(service, each.change)


def _enrol_due(service: Service) -> None:
    """Enrol the planned hosts that are due and that the cloud has by their names."""
    driver = service.types.get(HOST).driver
    due = [each for each in list_changes(service) if each.state is State.OVERDUE]
    if not due or not isinstance(driver, Enumerable):
        return
    with service.db.reading() as connection:
        enrolled = {each.id for each in list_resources(connection, HOST)}
    try:
        there = {each.reference for each in driver.candidates(service.cloud, service.settings.cloud, enrolled)}
    except CloudError:
        log.warning("The cloud does not say which planned hosts have arrived")
        return
    for each in due:
        planned = (host.resource.reference for host in each.hosts if not host.arrived)
        names = [name for name in planned if name in there]
        for name in names:
            try:
                arrive(service, each.change.id, {name: name})
            except LeaseholdError as error:
                log.warning("The planned host %s is there, and cannot be enrolled: %s", name, error.message)
