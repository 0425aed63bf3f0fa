"""Record whether enrolled resources are healthy, disabled, down or failed, as their drivers say (resources §7.2)."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.resource import list_resources, update_resources
from leasehold.model.resource import Health

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.enrolment import Report
    from leasehold.resource_types.registry import ResourceType

    State = tuple[Health, datetime | None]
    Changes = dict[State, list[Resource]]

log = logging.getLogger(__name__)


def check_health(service: Service) -> None:
    """Ask each driver that reports health how the enrolled resources of its type are, and record what has changed.

    A type that is switched off is asked as well, while resources of it are enrolled. A cloud that does not answer for
    one type, or a plugin that raises, is logged, and keeps none of the others from being asked.
    """
    for found in service.types.reporting():
        with service.db.reading() as connection:
            resources = list_resources(connection, found.name)
        if not resources:
            continue
        try:
            reports = found.driver.reports(service.cloud, resources)
        except CloudError as error:
            log.warning("The cloud does not report the state of its %s: %s", found.kind.noun, error)
            continue
        except Exception:
            log.exception("A bug in %s: the health of its resources is not known, and stays as it was", found.name)
            continue
        if _changes(resources, reports, service.now(), service.settings.manager.failure_grace):
            _mark(service, found, reports)


def _mark(service: Service, type_: ResourceType, reports: Mapping[int, Report]) -> None:
    """Record the changed states of resources; one without a report keeps its state."""
    kind, grace = type_.kind, service.settings.manager.failure_grace

    def work(connection: Connection) -> Changes:
        generations = lock_pools(connection, {kind.pool})
        found = _changes(list_resources(connection, kind.name), reports, service.now(), grace)
        if found:
            _write(connection, found, generations[kind.pool] + 1, service.now())
            bump_pools(connection, generations)
        return found

    for (health, _), changed in service.db.transact(work).items():
        log.warning("%s that are %s now: %s", kind.noun.capitalize(), health, ", ".join(each.label for each in changed))


def _changes(resources: Iterable[Resource], reports: Mapping[int, Report], now: datetime, grace: timedelta) -> Changes:
    """Return the resources whose state has changed, by their new state."""
    found: Changes = defaultdict(list)
    for each in resources:
        report = reports.get(each.number)
        if report is None:
            continue
        state = judge(report, now, grace, (each.health, each.down_since))
        if (each.health, each.down_since, each.reservable) != (*state, state[0] is Health.HEALTHY):
            found[state].append(each)
    return dict(found)


def judge(report: Report, now: datetime, grace: timedelta, before: State = (Health.HEALTHY, None)) -> State:
    """Return a resource's health and since when it is down; one seen down for `grace` has failed until it is up."""
    if report.up:
        return (Health.HEALTHY if report.enabled else Health.DISABLED), None
    health, since = before
    since = since or now
    return (Health.FAILED if health is Health.FAILED or now - since >= grace else Health.DOWN), since


def _write(connection: Connection, changes: Changes, generation: int, now: datetime) -> None:
    for (health, since), resources in changes.items():
        update_resources(
            connection,
            [each.number for each in resources],
            generation,
            health=health,
            down_since=since,
            reservable=health is Health.HEALTHY,
            updated_at=now,
        )
