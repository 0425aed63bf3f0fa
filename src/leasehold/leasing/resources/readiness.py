"""Decide that a resource is not ready, or is again: its row is written under the lock of its pool (decision 0140)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.db.outbox import put_resource_events
from leasehold.db.resources.resource import resources_by_number, update_resources
from leasehold.leasing.locks import lock
from leasehold.model.event_log import ResourceNews
from leasehold.model.resource import Health

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Readiness, Resource


def put_readiness(locks: Locks, resource: Resource, readiness: Readiness | None, health: Health) -> None:
    """Write how soon a resource is ready, and its health, with an event if that is another one."""
    admitted = resource.admitted and health is not Health.FAILED
    update_resources(
        locks.connection,
        [resource.number],
        locks.next(resource.pool),
        waking_seconds=None if readiness is None else int(readiness.takes.total_seconds()),
        waking_since=None if readiness is None else readiness.begun,
        health=health,
        down_since=_down_since(locks, resource, health),
        reservable=admitted,
        updated_at=locks.now,
    )
    if health is not resource.health:
        after = replace(resource, readiness=readiness, health=health, admitted=admitted)
        put_resource_events(locks.connection, ResourceNews.HEALTH, [after], locks.now)


def _down_since(locks: Locks, resource: Resource, health: Health) -> datetime | None:
    if health is resource.health:
        return resource.down_since
    return locks.now if health is Health.FAILED else None


def decide_about(service: Service, resource: Resource, work: Callable[[Locks, Resource], bool], *, freed: bool) -> bool:
    """Run `work` on a resource as it is, with its pool locked, and move the pool if it returns true; say whether.

    Nothing is done to one that was removed.
    """

    def locked(connection: Connection) -> bool:
        locks = lock(connection, {resource.pool}, service.now)
        present = resources_by_number(connection, [resource.number]).get(resource.number)
        if present is None or present.deleted_at is not None or not work(locks, present):
            return False
        locks.move(freed=freed)
        return True

    done = service.db.transact(locked)
    if done:
        service.wake()
    return done
