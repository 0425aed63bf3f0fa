"""Finds servers that outlived their leases, or were removed before the end, through the cloud's API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.db.clock import utc_now
from leasehold.db.engine import open_engine, reading
from leasehold.db.tables import leases, reservations
from leasehold.model.resource import FLOATING_IP
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

_OVER = (
    select(reservations.c.id, reservations.c.lease_id, leases.c.status)
    .join(leases, leases.c.id == reservations.c.lease_id)
    .where(reservations.c.resource_type != FLOATING_IP)
    .where(or_(leases.c.deleted_at.is_not(None), leases.c.status == LeaseStatus.TERMINATED))
)

_ACTIVE = (
    select(reservations.c.id, reservations.c.lease_id)
    .join(leases, leases.c.id == reservations.c.lease_id)
    .where(leases.c.deleted_at.is_(None), leases.c.status == LeaseStatus.ACTIVE)
)


def lost(url: str, running: Mapping[str, str], now: Callable[[], datetime] = utc_now) -> list[str]:
    """Return a sentence for each server that is gone although its lease is active and its user did not delete it.

    `running` maps the ids of the servers that must exist to their reservations.
    """
    engine = open_engine(url)
    try:
        with reading(engine) as connection:
            active = {row.id: row.lease_id for row in connection.execute(_ACTIVE)}
        there = {server.id for server in sandbox(engine, faults_in_force=False, clock=now).servers.all()}
    finally:
        engine.dispose()
    return [
        f"server {ident} is gone, and lease {active[part]}, to whose reservation {part} it belongs, is ACTIVE"
        for ident, part in sorted(running.items())
        if part in active and ident not in there
    ]


def left_over(url: str, now: Callable[[], datetime] = utc_now) -> list[str]:
    """Return a sentence for each server that runs although its lease is over; its name is its reservation's id.

    Ask the cloud instead of reading its tables: there the row of a removed server stays until the next boot.
    """
    engine = open_engine(url)
    try:
        with reading(engine) as connection:
            over = {row.id: row for row in connection.execute(_OVER)}
        servers = sandbox(engine, faults_in_force=False, clock=now).servers.all()
    finally:
        engine.dispose()
    return [
        f"server {each.id} on {each.service_host} is {each.status}, and lease {over[each.name].lease_id}, "
        f"to whose reservation {each.name} it belongs, is {over[each.name].status}"
        for each in servers
        if each.service_host is not None and each.name in over
    ]
