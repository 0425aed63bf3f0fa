"""Planned hosts that are late: leases that would begin on them before they are there get others (decision 0146).

That is healing: a lease that finds no other host loses the one that is late, is flagged, and gets one as soon as there
is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leasehold.db.allocation import leases_on
from leasehold.db.leases.healing import types_of
from leasehold.db.leases.lease import find_lease
from leasehold.db.outbox import put_event, put_resource_events
from leasehold.db.resources.resource import resources_by_number, update_resources
from leasehold.features.planned_capacity import store
from leasehold.leasing.healing.heal import Healing, Round
from leasehold.leasing.locks import lock
from leasehold.leasing.resources.survey import allocations_beyond
from leasehold.leasing.unit import run
from leasehold.model.event_log import LeaseNews, ResourceNews
from leasehold.model.resource import HOST_POOL
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.resource import Resource
    from leasehold.model.terms.heal_policy import HealPolicy


def replace_early(service: Service) -> None:
    """Give leases other hosts that would begin on a planned one before its date."""
    with service.db.reading() as connection:
        absent = [each.resource for found in store.planned_of(connection).values() for each in found]
    now = service.now()
    by_date: dict[datetime, list[int]] = {}
    for each in absent:
        if each.expected_at is not None and each.expected_at > now:
            by_date.setdefault(each.expected_at, []).append(each.number)
    for date, numbers in by_date.items():
        give_others(service, numbers, date, date)


def give_others(
    service: Service,
    numbers: Collection[int],
    until: datetime | None,
    date: datetime | None,
    policy: HealPolicy | None = None,
) -> None:
    """Give leases that begin before `until` on these resources others in their place, as if these had failed.

    Each lease is a transaction of its own, in which its owner is told until when the resources are late: `date`, None:
    for ever. `policy` None means that of the lease.
    """
    with service.db.reading() as connection:
        found = leases_on(connection, numbers, service.now(), until)
        types = types_of(connection, found)
    here = Round(frozenset(numbers), frozenset())
    for lease_id in found:
        run(service, _Replacing(Healing(lease_id, types[lease_id], here, policy=policy), date))
    if found:
        service.wake()


def replace_unfit(service: Service, number: int) -> None:
    """Give leases others in place of a resource that has less than was planned, or is not what they asked for."""
    with service.db.reading() as connection:
        over = allocations_beyond(service.types, connection, [number], service.now())
        types = types_of(connection, {each.lease_id for each in over})
    here = Round(frozenset(), frozenset(), changed=frozenset({number}))
    for lease_id in sorted(types):
        run(service, Healing(lease_id, types[lease_id], here))


@dataclass(frozen=True, slots=True)
class _Replacing:
    """The use case for one lease; None if nothing changes."""

    healing: Healing
    date: datetime | None

    def __call__(self, unit: Unit) -> Decision | None:
        decision = self.healing(unit)
        return None if decision is None else replace(decision, news=[_late(self.date), *decision.news])


def _late(date: datetime | None) -> tuple[str, Mapping[str, Any]]:
    return LeaseNews.CAPACITY_LATE, {"expected_at": None if date is None else date.isoformat()}


def note_overdue(service: Service, hosts: Sequence[Resource]) -> None:
    """Promise nothing more on hosts that are not there at their date; their leases get others as they come close.

    Those that begin later than healing looks ahead are told at once.
    """
    interval = service.settings.manager.healing_interval
    now = service.now()
    until = now + interval if interval else None

    def work(connection: Connection) -> None:
        locks = lock(connection, {HOST_POOL}, service.now)
        present = resources_by_number(connection, [each.number for each in hosts])
        late = [
            each for each in present.values() if each.admitted and each.expected_at and each.expected_at <= locks.now
        ]
        if not late:
            return
        numbers = [each.number for each in late]
        update_resources(connection, numbers, locks.next(HOST_POOL), reservable=False, updated_at=locks.now)
        locks.move()
        put_resource_events(
            connection, ResourceNews.HEALTH, [replace(each, admitted=False) for each in late], locks.now
        )
        for lease_id, start in leases_on(connection, numbers, locks.now, None).items():
            lease = None if until is None or from_seconds(start) < until else find_lease(connection, lease_id)
            if lease is not None and not lease.is_maintenance:
                put_event(connection, LeaseNews.CAPACITY_LATE, lease, locks.now, _late(None)[1])

    service.db.transact(work)
    give_others(service, [each.number for each in hosts], until, None)
