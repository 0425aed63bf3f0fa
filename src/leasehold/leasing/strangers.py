"""Servers on a host that are not those of the lease which is to have it.

A boot that passed the scheduler before a lease ended may land on the host after its end. It is removed only where it is
certain that it belonged to that lease: nobody gets a server deleted because we guessed.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.db.audit import owners
from leasehold.db.strangers import past_holds, project_has_lease

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Server, StrangersError
    from leasehold.leasing.service import Service
    from leasehold.resource_types.base import Job

log = logging.getLogger(__name__)

LONGEST_BOOT = timedelta(hours=1)
"""A server that was asked for longer before the end of a lease did not land late: somebody moved it here."""


def clear_strangers(service: Service, job: Job, error: StrangersError) -> None:
    """Delete those servers that certainly belonged to a lease which is over; raises CloudError."""
    number = next(
        held.resource.number for held in job.holdings if held.resource.attributes["service_name"] == error.service_host
    )
    _delete_late(service, {error.service_host: number}, error.servers)


def clear_slot_hosts(service: Service, job: Job) -> None:
    """Delete what certainly landed late on hosts whose slots begin; raises CloudError.

    Slots do not wait for the other servers there: those of other slots are in their place, and what is nobody's is the
    operator's affair.
    """
    in_slots = {held.id for held in job.reservation.allocations if held.demand is not None}
    numbers = {
        holding.resource.attributes["service_name"]: holding.resource.number
        for holding in job.holdings
        if holding.allocation_id in in_slots
    }
    if numbers:
        there = service.cloud.servers.on_hosts(numbers.keys())
        _delete_late(service, numbers, [each for each in there if each.flavor_id != job.name])


def _delete_late(service: Service, numbers: Mapping[str, int], servers: Sequence[Server]) -> None:
    """Delete those of these servers that landed late; `numbers` are their hosts' by service host."""
    suspects: dict[str, list[Server]] = {}
    for server in servers:
        if server.service_host is not None and server.service_host in numbers and not server.preemptible:
            suspects.setdefault(server.service_host, []).append(server)
    if not suspects:
        return
    with service.db.reading() as connection:
        late = [each for host, found in suspects.items() for each in landed_late(connection, numbers[host], found)]
    for server in late:
        text = "Server %s of project %s landed on %s after the end of the lease that it was booted in, and is deleted"
        log.warning(text, server.id, server.project_id, server.service_host)
        service.cloud.servers.delete(server.id)


def landed_late(connection: Connection, number: int, servers: Sequence[Server]) -> list[Server]:
    """Return the servers on a host that certainly belonged to a reservation which is over.

    Either they have the flavor of one. Or they were asked for shortly before their project gave the whole host back at
    the end of a lease, and the project had no other lease then in which they can have been meant.
    """
    known = owners(connection, {server.flavor_id for server in servers})
    over = {ident for ident, owner in known.items() if owner.over}
    return [each for each in servers if each.flavor_id in over or _of_a_past_hold(connection, number, each)]


def _of_a_past_hold(connection: Connection, number: int, server: Server) -> bool:
    asked = server.created_at
    if asked is None:
        return False
    held = any(
        begin <= asked <= released and released - asked <= LONGEST_BOOT
        for begin, released in past_holds(connection, number, server.project_id)
    )
    return held and not project_has_lease(connection, server.project_id, asked)
