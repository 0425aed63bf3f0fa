"""Record the health of the enrolled hosts from the cloud: healthy, disabled, down, or failed (resources §7.2)."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.resource import list_resources, update_resources
from leasehold.model.resource import HOST, HOST_POOL, Health

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Hypervisor
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource

    State = tuple[Health, datetime | None]
    Changes = dict[State, list[Resource]]

log = logging.getLogger(__name__)


def mark_hosts(service: Service, reports: Mapping[str, Hypervisor]) -> None:
    """Record the changed states of hosts; `reports` holds the cloud's hypervisors by hypervisor hostname.

    Hypervisor numbers repeat from cell to cell; hostnames do not, because Placement names its providers by them. A host
    that is missing from the reports keeps its state.
    """
    grace = service.settings.manager.failure_grace

    def changes(connection: Connection) -> Changes:
        return _changes(list_resources(connection, HOST), reports, service.now(), grace)

    def work(connection: Connection) -> Changes:
        generations = lock_pools(connection, {HOST_POOL})
        found = changes(connection)
        if found:
            _write(connection, found, generations[HOST_POOL] + 1, service.now())
            bump_pools(connection, generations)
        return found

    with service.db.reading() as connection:
        news = bool(changes(connection))
    for (health, _), hosts in (service.db.transact(work) if news else {}).items():
        log.warning("Hosts that are %s now: %s", health, ", ".join(host.label for host in hosts))


def _changes(hosts: Iterable[Resource], reports: Mapping[str, Hypervisor], now: datetime, grace: timedelta) -> Changes:
    """Return the hosts whose state has changed, by their new state."""
    found: Changes = defaultdict(list)
    for host in hosts:
        report = reports.get(host.attributes["hypervisor_hostname"])
        if report is None:
            continue
        state = judge(report, now, grace, (host.health, host.down_since))
        if (host.health, host.down_since, host.reservable) != (*state, state[0] is Health.HEALTHY):
            found[state].append(host)
    return dict(found)


def judge(report: Hypervisor, now: datetime, grace: timedelta, before: State = (Health.HEALTHY, None)) -> State:
    """Return a host's health and since when it is down; a host seen down for `grace` has failed until it is up."""
    if report.up:
        return (Health.HEALTHY if report.enabled else Health.DISABLED), None
    health, since = before
    since = since or now
    return (Health.FAILED if health is Health.FAILED or now - since >= grace else Health.DOWN), since


def _write(connection: Connection, changes: Changes, generation: int, now: datetime) -> None:
    for (health, since), hosts in changes.items():
        update_resources(
            connection,
            [host.number for host in hosts],
            generation,
            health=health,
            down_since=since,
            reservable=health is Health.HEALTHY,
            updated_at=now,
        )
