"""The poll: it asks the cloud what is used of what active leases hold, and writes that as spans (decision 0150)."""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from leasehold.cloud.ports import CloudError
from leasehold.db.leases.lease import find_each
from leasehold.db.tables import leases
from leasehold.features.usage import store
from leasehold.features.usage.model import observed
from leasehold.features.usage.options import UsageSettings
from leasehold.leasing.steps.lifecycle import jobs_of_each
from leasehold.model.states import LeaseStatus, ReservationStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from threading import Event

    from sqlalchemy import Connection

    from leasehold.features.usage.model import Use
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.resource_types.capabilities import Counting, Place
    from leasehold.resource_types.driver import Convergence

log = logging.getLogger(__name__)

CHUNK: Final = 500
"""Leases that are read at a time."""
FARTHEST: Final = 2.5
"""In intervals: between polls that are farther apart nothing is known. One that fails is bridged, and no two are."""
_HOLDING = select(leases.c.id).where(
    leases.c.deleted_at.is_(None), leases.c.status.in_([LeaseStatus.ACTIVE, LeaseStatus.TERMINATING])
)


def poll(service: Service, stopping: Event | None = None) -> None:
    """Ask once what is used, of one type after the other; a failure for one does not stop the others."""
    held = _held(service)
    for type_, driver in service.types.counting():
        if stopping is not None and stopping.is_set():
            return
        _poll_type(service, type_.name, driver, held.get(type_.name, ()))


@dataclass(frozen=True, slots=True)
class Held:
    """A job of an active reservation, and its lease."""

    lease: Lease
    job: Convergence[Any]


def _held(service: Service) -> Mapping[str, Sequence[Held]]:
    """Return the jobs of all active reservations by resource type, also of those whose servers outlive their leases."""
    found: dict[str, list[Held]] = defaultdict(list)
    with service.db.reading() as connection:
        ids = list(connection.scalars(_HOLDING))
        for begin in range(0, len(ids), CHUNK):
            some = list(find_each(connection, ids[begin : begin + CHUNK]).values())
            for lease, jobs in zip(some, jobs_of_each(service, connection, some), strict=True):
                for job in jobs:
                    if _holds(lease, job):
                        found[job.reservation.resource_type].append(Held(lease, job))
    return found


def _holds(lease: Lease, job: Convergence[Any]) -> bool:
    goes_on = lease.status is LeaseStatus.ACTIVE or job.kept_until is not None
    return goes_on and job.reservation.status is ReservationStatus.ACTIVE


def _poll_type(service: Service, name: str, driver: Counting, held: Sequence[Held]) -> None:
    """Count what is used of a type, and write it; while that is not known nothing is written."""
    moment = to_seconds(service.now())
    try:
        counted = driver.counted(service.cloud, [each.job for each in held]) if held else {}
    except CloudError as error:
        log.warning("The cloud does not say what is used of %s: %s", name, error)
        return
    except Exception:
        log.exception("A bug in %s: what is used cannot be counted", name)
        return
    farthest = int(FARTHEST * service.settings.of(UsageSettings).poll_seconds)
    service.db.transact(partial(_write, name, held, counted, moment, farthest))


def _write(
    name: str, held: Sequence[Held], counted: Mapping[Place, int], moment: int, farthest: int, connection: Connection
) -> None:
    """Write what a poll has found, unless a later one has been written."""
    cursor = store.poll_of(name)
    before, closed = store.find_progress(connection, cursor, lock=True), store.closed_until(connection)
    if (before is not None and before.position >= moment) or moment < closed:
        return
    # What was used before then is summed.
    farthest = min(farthest, moment - closed)
    going_on = store.open_uses(connection, name)
    changed: list[Use] = []
    new: list[dict[str, Any]] = []
    for place, owner in _places(held).items():
        for use in observed(going_on.pop(place, None), counted.get(place, 0), moment, farthest):
            if use.id is None:
                new.append({**owner, **asdict(use)})
            else:
                changed.append(use)
    for use in going_on.values():
        # Its reservation holds that no more.
        changed += observed(use, 0, moment, farthest)
    store.save_uses(connection, changed, [{name: row[name] for name in row if name != "id"} for row in new])
    since = moment if before is None else before.since
    store.save_progress(connection, before, store.Progress(cursor, since, moment))


def _places(held: Sequence[Held]) -> dict[Place, dict[str, Any]]:
    """Return by place what the row of a span says of its owner and its resource."""
    return {
        (each.job.name, holding.resource.number): {
            "lease_id": each.lease.id,
            "reservation_id": each.job.name,
            "project_id": each.lease.project_id,
            "user_id": each.lease.user_id,
            "resource_type": each.job.reservation.resource_type,
            "resource_number": holding.resource.number,
            "resource": holding.resource.reference,
        }
        for each in held
        for holding in each.job.holdings
    }
