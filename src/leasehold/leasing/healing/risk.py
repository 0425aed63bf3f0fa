"""Tell projects as soon as a resource of a later lease fails, before healing looks at that lease (feature D8).

A lease is at risk while it begins after the healing interval and a resource of it has failed, or has less than before.
Nothing is replaced then: the resource has time to work again. Its owner may have it healed at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.db.allocation import leases_on
from leasehold.db.leases.healing import leases_at_risk
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.resources.resource import changed_in_the_cloud, failed_resources
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.resources.survey import allocations_beyond, any_broken
from leasehold.model.event_log import LeaseNews
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease


def tell_risks(service: Service) -> int:
    """Set and clear `at_risk` of leases, with an event each; return how many changed.

    Each lease is its own transaction.
    """
    now = service.now()
    interval = service.settings.manager.healing_interval
    with service.db.reading() as connection:
        flagged = leases_at_risk(connection, now)
        concerned = _losing(service, connection, now, interval) if interval else set()
    return sum(tell_risk(service, lease_id) is not None for lease_id in sorted(flagged ^ concerned))


def _losing(service: Service, connection: Connection, now: datetime, interval: timedelta) -> set[str]:
    """Return the leases that begin after the interval and have a resource that has failed, or has less than before."""
    failed = failed_resources(connection).keys()
    found = leases_on(connection, failed, now, None) if failed else {}
    over = allocations_beyond(service.types, connection, changed_in_the_cloud(connection), now)
    starts = [*found.items(), *((each.lease_id, to_seconds(each.window.start)) for each in over)]
    return {lease_id for lease_id, start in starts if start >= to_seconds(now + interval)}


def tell_risk(service: Service, lease_id: str) -> Lease | None:
    """Set or clear `at_risk` of one lease, with the event; return the lease if it has changed."""
    interval = service.settings.manager.healing_interval

    def write(connection: Connection) -> Lease | None:
        lease, now = find_lease(connection, lease_id, lock=True), service.now()
        if lease is None or (lease.status is not LeaseStatus.PENDING and not lease.at_risk):
            return None
        held = [each for part in lease.reservations for each in held_by(part, lease)]
        broken = any_broken(service.types, connection, held, now)
        later = bool(interval) and to_seconds(lease.begins) >= to_seconds(now + interval)
        after = replace(lease, at_risk=broken and later and lease.status is LeaseStatus.PENDING)
        if after == lease:
            return None
        after = save_lease(connection, lease, after, now)
        if after.at_risk:
            put_event(connection, LeaseNews.AT_RISK, after, now)
        elif not broken and not any(part.missing_resources for part in after.reservations):
            put_event(connection, LeaseNews.SAFE, after, now)
        return after

    return service.db.transact(write)
