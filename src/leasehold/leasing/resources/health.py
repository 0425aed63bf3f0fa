"""Record whether enrolled resources are healthy, disabled, down or failed, as their drivers say (resources §7.2).

A resource that works again becomes reservable in a second step, `admit`, after healing has given it back to the
reservations that miss it. Both steps in one transaction would lock several leases (design §3).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.outbox import put_resource_events
from leasehold.db.resources.resource import list_resources, resources_by_number, update_resources
from leasehold.leasing.locks import lock
from leasehold.model.event_log import ResourceNews
from leasehold.model.resource import Health
from leasehold.resource_types.records import Records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.enrolment import Report
    from leasehold.resource_types.registry import ResourceType

    State = tuple[Health, datetime | None]
    Changes = dict[State, list[Resource]]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checked:
    """A check: the resources that work and are not reservable yet, by number, and the types that did not answer."""

    returning: frozenset[int]
    silent: frozenset[str]


def check_health(service: Service, types: Collection[str] | None = None) -> Checked:
    """Ask each driver that reports health how the enrolled resources of its type are, and record what has changed.

    `admit` makes those reservable that return. `types` names the types that are asked; None means all but those that
    the operator does not want polled.

    A type that is switched off is asked as well, while resources of it are enrolled. A cloud that does not answer for
    one type, or a plugin that raises, is logged, and keeps none of the others from being asked.
    """
    returning: set[int] = set()
    silent: set[str] = set()
    for found, driver in service.types.reporting():
        if (found.name in service.settings.manager.unpolled) if types is None else (found.name not in types):
            continue
        with service.db.reading() as connection:
            resources = list_resources(connection, found.name)
        if not resources:
            continue
        try:
            reports = driver.reports(service.cloud, resources, Records(service.db, service.now))
        except CloudError as error:
            log.warning("The cloud does not report the state of its %s: %s", found.kind.noun, error)
            silent.add(found.name)
            continue
        except Exception:
            log.exception("A bug in %s: the health of its resources is not known, and stays as it was", found.name)
            continue
        returning |= {
            each.number
            for each in resources
            if not each.admitted and each.pooled and each.number in reports and _works(reports[each.number])
        }
        if _changes(resources, reports, service.now(), service.settings.manager.failure_grace):
            _mark(service, found, reports)
    return Checked(frozenset(returning), frozenset(silent))


def verdicts(service: Service, types: Collection[str]) -> Mapping[str, Collection[datetime]]:
    """Return by type when the resources that are down have been so for the grace period."""
    grace = service.settings.manager.failure_grace
    with service.db.reading() as connection:
        resources = {name: list_resources(connection, name) for name in types}
    return {
        name: {each.down_since + grace for each in found if each.health is Health.DOWN and each.down_since is not None}
        for name, found in resources.items()
    }


def admit(service: Service, returning: Collection[int]) -> None:
    """Make these resources reservable for all, unless they have stopped working meanwhile."""

    def work(connection: Connection) -> None:
        pools = {each.pool for each in resources_by_number(connection, returning).values()}
        locks = lock(connection, pools, service.now)
        found: dict[str, list[Resource]] = defaultdict(list)
        for each in resources_by_number(connection, returning).values():
            if each.health is Health.HEALTHY and each.pooled and not each.admitted:
                found[each.pool].append(replace(each, admitted=True))
        for pool, opened in found.items():
            numbers = [each.number for each in opened]
            update_resources(connection, numbers, locks.next(pool), reservable=True, updated_at=locks.now)
            put_resource_events(connection, ResourceNews.HEALTH, opened, locks.now)
        if found:
            locks.move(freed=True)

    service.db.transact(work)


def _mark(service: Service, type_: ResourceType, reports: Mapping[int, Report]) -> None:
    """Record the changed states of resources; one without a report keeps its state."""
    kind, grace = type_.kind, service.settings.manager.failure_grace

    def work(connection: Connection) -> Changes:
        locks = lock(connection, {kind.pool}, service.now)
        found = _changes(list_resources(connection, kind.name), reports, locks.now, grace)
        if found:
            _write(connection, found, locks.next(kind.pool), locks.now)
            locks.move(freed=True)
            put_resource_events(connection, ResourceNews.HEALTH, _told(found), locks.now)
        return found

    for (health, _), changed in service.db.transact(work).items():
        log.warning("%s that are %s now: %s", kind.noun.capitalize(), health, ", ".join(each.label for each in changed))


def _changes(resources: Iterable[Resource], reports: Mapping[int, Report], now: datetime, grace: timedelta) -> Changes:
    """Return the resources whose state has changed, by their new state."""
    found: Changes = defaultdict(list)
    for each in resources:
        report = reports.get(each.number)
        if report is None or _is_off_or_never_ready(each):
            continue
        state = judge(report, now, grace, (each.health, each.down_since))
        if (each.health, each.down_since) != state or (each.admitted and state[0] is not Health.HEALTHY):
            found[state].append(each)
    return dict(found)


def _is_off_or_never_ready(resource: Resource) -> bool:
    """Say whether a resource is asleep or planned, or has failed to be ready; whoever decided that says when it is."""
    absent = resource.health in (Health.ASLEEP, Health.PLANNED)
    return absent or (resource.health is Health.FAILED and resource.readiness is not None)


def _works(report: Report) -> bool:
    return report.up and report.enabled


def judge(report: Report, now: datetime, grace: timedelta, before: State = (Health.HEALTHY, None)) -> State:
    """Return a resource's health and since when it is down; one seen down for `grace` has failed until it is up."""
    if report.up:
        return (Health.HEALTHY if report.enabled else Health.DISABLED), None
    health, since = before
    since = since or now
    return (Health.FAILED if health is Health.FAILED or now - since >= grace else Health.DOWN), since


def _told(changes: Changes) -> list[Resource]:
    """Return the resources whose health has changed, as they are now; since when one is down is no news."""
    return [
        replace(each, health=health, admitted=each.admitted and health is Health.HEALTHY)
        for (health, _), changed in changes.items()
        for each in changed
        if each.health is not health
    ]


def _write(connection: Connection, changes: Changes, generation: int, now: datetime) -> None:
    """Write the new states; a resource that works again is not reservable before `admit`."""
    for (health, since), resources in changes.items():
        closed = {} if health is Health.HEALTHY else {"reservable": False}
        numbers = [each.number for each in resources]
        values = {"health": health, "down_since": since, "updated_at": now, **closed}
        update_resources(connection, numbers, generation, **values)
