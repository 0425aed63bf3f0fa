"""Reserves: hosts that are held back from a date on, each by a window of the operator's (feature G5)."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.db.leases.lease import find_leases
from leasehold.db.resources.resource import resources_by_number
from leasehold.features.planned_capacity import store
from leasehold.features.planned_capacity.model import Hold
from leasehold.leasing.maintenance.model import MaintenanceConflictError, MaintenanceDraft
from leasehold.leasing.maintenance.use import delete_maintenance, make_maintenance
from leasehold.leasing.steps.lifecycle import is_over
from leasehold.model.caller import Caller
from leasehold.model.errors import NotFoundError
from leasehold.model.properties import parse
from leasehold.model.resource import HOST, HOST_POOL
from leasehold.model.states import LeaseStatus
from leasehold.resource_types.conditions import check_orderings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.features.planned_capacity.model import Change
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

log = logging.getLogger(__name__)

FIELD: Final = "resource_properties"


def fill(service: Service, change: Change) -> None:
    """Hold as many hosts for a reserve as it wants of those that match now, and give back the others.

    Hosts are held that are free for all of the window that lies ahead, so no promise is broken; where there are too few
    of them the next round tries again. One that has failed or is disabled is no reserve, and another takes its place.
    """
    window = change.window_after(service.now())
    if not window.duration:
        return
    expression = parse(change.resource_properties, FIELD)
    with service.db.reading() as connection:
        holds = store.holds_of(connection).get(change.id, ())
        leases = {each.id: each for each in find_leases(connection, [each.lease_id for each in holds])}
    # An operator may have deleted the window of a hold, as any other.
    held = {each.resource_number: each for each in holds if _holds(leases.get(each.lease_id))}
    for each in holds:
        if each not in held.values():
            release(service, each)

    def look(pools: Mapping[str, Snapshot], _now: datetime) -> tuple[list[int], list[int]]:
        pool = pools[HOST_POOL]
        good = pool.eligible.matching(expression) & pool.eligible.bookable()
        free = good & pool.free(window)
        return pool.numbers[np.flatnonzero(good)].tolist(), pool.numbers[np.flatnonzero(free)].tolist()

    good, free = service.look([HOST_POOL], look, [(HOST_POOL, expression)], asks=True)
    wanted = _wanted(change, len(good))
    kept = [number for number in held if number in set(good)][:wanted]
    for number in held.keys() - set(kept):
        release(service, held[number])
    # Requests take the first that are free, so the last ones are held.
    more = [number for number in reversed(free) if number not in held][: wanted - len(kept)]
    if more:
        _hold(service, change, more)


def any_matches(service: Service, text: str) -> bool:
    """Return whether any host, also one that is planned, matches an expression; raises InvalidInputError.

    An expression that orders numbers by what is none is refused, as in a request for a lease.
    """
    expression = parse(text, FIELD)

    def look(pools: Mapping[str, Snapshot], _now: datetime) -> bool:
        check_orderings({FIELD: text}, {}, pools[HOST_POOL].eligible.values_of)
        return bool(pools[HOST_POOL].eligible.matching(expression).any())

    return service.look([HOST_POOL], look, [(HOST_POOL, expression)], asks=True)


def release(service: Service, hold: Hold) -> None:
    """Give back what a hold has."""
    with suppress(NotFoundError):
        delete_maintenance(service, hold.lease_id)
    service.db.transact(lambda connection: store.forget_hold(connection, hold.lease_id))


def _holds(lease: Lease | None) -> bool:
    return lease is not None and lease.status is not LeaseStatus.DELETING and not is_over(lease)


def _wanted(change: Change, there: int) -> int:
    if change.amount is not None:
        return change.amount
    return -(-there * (change.percent or 0) // 100)


def _hold(service: Service, change: Change, numbers: Sequence[int]) -> None:
    window = change.window_after(service.now())
    caller = Caller(change.user_id, change.project_id)
    with service.db.reading() as connection:
        hosts = resources_by_number(connection, numbers)
    for number in numbers:
        draft = MaintenanceDraft(change.name, window.start, window.end, [hosts[number].id])
        along = partial(_note, change, number)
        try:
            make_maintenance(service, caller, draft, along)
        except MaintenanceConflictError:
            log.info("The %s %s was promised meanwhile; the reserve takes another one", HOST, hosts[number].label)


def _note(change: Change, number: int, connection: Connection, lease: Lease) -> None:
    store.add_hold(connection, Hold(lease.id, change.id, number))
