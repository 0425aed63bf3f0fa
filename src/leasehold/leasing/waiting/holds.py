"""Hold resources for a best-effort lease while its hosts are drawn, and let them go again (decision 0060).

A held resource is no candidate for anybody else; what is promised on it already stays. Every change is made under the
locks of the pools, which the caller bumps.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from leasehold.db.leases.hold import held_resources
from leasehold.db.resources.resource import resources_by_number, update_resources
from leasehold.leasing.resources.membership import ask_for_pool, columns_of
from leasehold.model.errors import InUseError
from leasehold.model.membership import Membership

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource
    from leasehold.model.terms.waiting import Waiting

log = logging.getLogger(__name__)


class Draws(Enum):
    """How far the draws for a best-effort lease have come."""

    UNDER_WAY = auto()
    DONE = auto()
    FAILED = auto()


def hold(service: Service, lease: Lease, numbers: Collection[int], locks: Locks) -> None:
    """Hold these resources for a lease that is stored, and begin to draw those of them that its `waiting` names."""
    draws = _waiting_of(lease).draws
    connection = locks.connection
    for number, resource in sorted(resources_by_number(connection, numbers).items()):
        values = {"held_for": lease.id, "updated_at": locks.now}
        if number in draws:
            type_ = service.types.get(resource.type)
            values |= columns_of(ask_for_pool(connection, type_, resource, Membership.RESERVATION, locks.now))
        update_resources(connection, [number], locks.next(resource.pool), **values)


def draws_of(connection: Connection, lease: Lease) -> Draws:
    """Return how far the draws for a lease have come; one whose resource is not held any more has failed."""
    held = {each.number: each.membership for each in held_resources(connection, lease.id)}
    states = {held.get(number) for number in _waiting_of(lease).draws}
    if not states <= {Membership.DRAWING, Membership.RESERVATION}:
        return Draws.FAILED
    return Draws.UNDER_WAY if Membership.DRAWING in states else Draws.DONE


def is_held(lease: Lease) -> bool:
    """Say whether a lease waits with resources that are held for it."""
    return lease.waits and lease.waiting is not None and bool(lease.waiting.draws)


def held_pools(lease: Lease) -> frozenset[str]:
    """Return the pools of which something may be held for a lease."""
    return _waiting_of(lease).pools if is_held(lease) else frozenset()


def let_go(service: Service, lease: Lease, keep: Collection[int], locks: Locks) -> None:
    """Hold nothing for a lease any more; the hosts that were drawn for it go back, except those to `keep`."""
    for resource in held_resources(locks.connection, lease.id):
        let_go_of(service, resource, None if resource.number in keep else lease, locks)


def let_go_of(service: Service, resource: Resource, lease: Lease | None, locks: Locks) -> None:
    """Hold one resource no more; it goes back if it was drawn for the `lease`."""
    free = replace(resource, held_for=None)
    if lease is not None and lease.waiting is not None and resource.number in lease.waiting.draws:
        free = _given_back(service, locks.connection, free, locks.now)
    values = {**columns_of(free), "held_for": None, "updated_at": locks.now}
    update_resources(locks.connection, [free.number], locks.next(free.pool), **values)


def _given_back(service: Service, connection: Connection, resource: Resource, now: datetime) -> Resource:
    """Return a drawn resource on its way back, as far as that is possible.

    An operator may have made a maintenance window on it meanwhile, or its plugin is missing.
    """
    type_ = service.types.find(resource.type)
    if type_ is None:
        return resource
    try:
        return ask_for_pool(connection, type_, resource, Membership.SHARED, now)
    except InUseError as error:
        log.warning("A host that was drawn in vain stays in the reservation pool: %s", error)
        return resource


def _waiting_of(lease: Lease) -> Waiting:
    """Return what a best-effort lease waits for; one without it holds nothing, and is a defect here."""
    if lease.waiting is None:
        message = f"Lease {lease.id} does not say what it waits for."
        raise RuntimeError(message)
    return lease.waiting
