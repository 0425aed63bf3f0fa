"""Repair the findings of an audit that a service may repair by itself.

A lease or a host is repaired by its own task, so that two workers never work on it. No repair deletes a server, deletes
a lease, or moves an allocation.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from leasehold.cloud.observing import Observation
from leasehold.cloud.ports import CloudError
from leasehold.db.allocation import unreleased_on
from leasehold.db.audit import IDLE, owners, work_of
from leasehold.db.lease import find_lease
from leasehold.db.outbox import put_event
from leasehold.db.resource import find_resource, last_resource, list_resources
from leasehold.db.store import UnknownOutcomeError
from leasehold.db.task import LEASE, add_task_once
from leasehold.leasing.audit.finding import Finding, Kind, Mend
from leasehold.leasing.audit.leftovers import Sort, Thing, is_of_hosts, things_of_ours
from leasehold.leasing.host import HOST_TASK
from leasehold.leasing.lifecycle import Phase, next_moment, phase_of
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.resource_types.floatingip.late_addresses import place_of, remove_if_kept
from leasehold.resource_types.history import History
from leasehold.resource_types.slots.names import child_provider

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

REPAIRED = "lease.repair"
"""The notification about a lease whose cloud objects were changed by hand."""
HURRIED = "The next manager that is free repairs it."


def repair(service: Service, finding: Finding) -> str | None:
    """Repair a finding and return a sentence that says how; None if it is left to an operator or to another try.

    The subject is checked again first: it is left alone if it was repaired meanwhile or has work in progress.
    """
    if finding.mend is None:
        return None
    try:
        return _MENDERS[finding.mend](service, finding)
    except CloudError as error:
        log.warning("The audit's finding about %s could not be repaired: %s", finding.subject, error)
        return None
    except (SQLAlchemyError, UnknownOutcomeError):
        raise
    except Exception:
        # A failed repair must not prevent the repair of other findings.
        log.exception("A bug: the audit's finding about %s could not be repaired", finding.subject)
        return None


# ------------------------------------------------------------ by a task


def _hurry_lease(service: Service, finding: Finding) -> str | None:
    def work(connection: Connection) -> str | None:
        now = service.now()
        lease = find_lease(connection, finding.subject, lock=True, gone=True)
        if lease is None or (work_of(connection, LEASE, lease.id) or IDLE).busy(now):
            return None
        phase = phase_of(lease, now)
        if phase is None and next_moment(lease) is None:
            return None
        if finding.kind is Kind.DRIFT:
            if phase is not Phase.KEEP:
                return None
            put_event(connection, REPAIRED, lease, now)
        add_task_once(connection, LEASE, lease.id, now)
        return HURRIED

    done = service.db.transact(work)
    service.wake()
    return done


def _hurry_host(service: Service, finding: Finding) -> str | None:
    def work(connection: Connection) -> str | None:
        known = last_resource(connection, HOST, finding.subject)
        if known is None or (work_of(connection, HOST_TASK, known.id) or IDLE).busy(service.now()):
            return None
        add_task_once(connection, HOST_TASK, known.id, service.now())
        return HURRIED

    done = service.db.transact(work)
    service.wake()
    return done


# ------------------------------------------------------------ by removing leftovers


def remove_leftovers(service: Service, reservation_id: str) -> str | None:
    """Remove the cloud objects of a reservation that is over, unless servers use them: their owner may need them.

    Returns a sentence that says what was removed, or None if nothing may be removed. Raises CloudError.
    """

    def is_over(connection: Connection) -> bool:
        owner = owners(connection, {reservation_id}).get(reservation_id)
        if owner is None or not owner.over:
            return False
        # Lock the lease, so that no worker begins a step of it between the two checks.
        find_lease(connection, owner.lease_id, lock=True, gone=True)
        return not (work_of(connection, LEASE, owner.lease_id) or IDLE).busy(service.now())

    if not service.db.transact(is_over):
        return None
    observation = Observation(service.cloud)
    things = [each for each in things_of_ours(service, observation) if each.reservation_id == reservation_id]
    if any(_serves(service, observation, thing) for thing in things):
        return None
    for thing in things:
        _REMOVERS[thing.sort](service, observation, thing)
    return f"Removed: {', '.join(map(str, things))}."


def _serves(service: Service, observation: Observation, thing: Thing) -> bool:
    """Return whether servers use this thing."""
    cloud = service.cloud
    if thing.sort is Sort.GROUP:
        return bool(observation.groups[thing.key].members)
    if thing.sort is Sort.FLAVOR:
        return bool(cloud.servers.with_flavor(thing.key))
    if thing.sort is Sort.AGGREGATE:
        return any(cloud.servers.on_host(host) for host in _leaving(service, observation, thing))
    return False


def _leaving(service: Service, observation: Observation, thing: Thing) -> list[str]:
    """Return the hosts of this aggregate that are in neither the free pool nor another host reservation's aggregate."""
    pool = service.settings.cloud.freepool
    others = [each for each in observation.aggregates.values() if each.name != thing.key]
    places = [each for each in others if each.name == pool or is_of_hosts(service, each)]
    return sorted(observation.aggregates[thing.key].hosts.difference(*(each.hosts for each in places)))


def _remove_aggregate(service: Service, observation: Observation, thing: Thing) -> None:
    """Remove an aggregate; first put its enrolled hosts back into the free pool, unless a lease has them."""
    aggregates, pool = service.cloud.aggregates, service.settings.cloud.freepool
    with service.db.reading() as connection:
        enrolled = {host.number: host.attributes["service_name"] for host in list_resources(connection, HOST)}
        held = unreleased_on(connection, enrolled, service.now()) if enrolled else []
    leased = {enrolled[each.resource_number] for each in held if each.demand is None}
    for host in _leaving(service, observation, thing):
        if host in enrolled.values() and host not in leased:
            aggregates.add_host(pool, host)
    for host in sorted(observation.aggregates[thing.key].hosts):
        aggregates.remove_host(thing.key, host)
    aggregates.delete(thing.key)


def _remove_group(service: Service, _: Observation, thing: Thing) -> None:
    if service.cloud.server_groups is not None:
        service.cloud.server_groups.delete(thing.key)


def _remove_class(service: Service, observation: Observation, thing: Thing) -> None:
    for provider in sorted(observation.providers):
        if provider.startswith(child_provider("")):
            service.cloud.providers.remove_inventory(provider, thing.key)
    service.cloud.providers.delete_class(thing.key)


_REMOVERS: dict[Sort, Callable[[Service, Observation, Thing], None]] = {
    Sort.AGGREGATE: _remove_aggregate,
    Sort.FLAVOR: lambda service, _, thing: service.cloud.flavors.delete(thing.key),
    Sort.CLASS: _remove_class,
    Sort.GROUP: _remove_group,
    Sort.ADDRESS: lambda service, _, thing: service.cloud.networks.delete_floating_ip(thing.key),
}


def _free_address(service: Service, finding: Finding) -> str | None:
    with service.db.reading() as connection:
        resource = find_resource(connection, FLOATING_IP, finding.subject)
    found = None if resource is None else service.cloud.networks.floating_ip(*place_of(resource))
    history = History(service.db, service.now)
    if resource is None or found is None or not remove_if_kept(service.cloud, history, resource, found):
        return None
    return f"Removed: floating IP {found.address} of project {found.project_id}."


_MENDERS: dict[Mend, Callable[[Service, Finding], str | None]] = {
    Mend.LEASE: _hurry_lease,
    Mend.HOST: _hurry_host,
    Mend.REMOVAL: lambda service, finding: remove_leftovers(service, finding.subject),
    Mend.ADDRESS: _free_address,
}
