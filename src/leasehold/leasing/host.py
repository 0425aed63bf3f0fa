"""Enrol, describe and remove compute hosts (contract resources §1, http-api §6)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError

from leasehold.cloud.ports import CloudError, CloudPermanentError
from leasehold.db.allocation import in_use, requests_naming, unreleased_on
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.property import define_properties
from leasehold.db.resource import (
    find_resource,
    hosts_behind,
    insert_resource,
    last_resource,
    put_properties,
    remove_resource,
    update_resources,
)
from leasehold.db.task import LEASE, add_task_by, add_task_once, call_off_task, hurry_task
from leasehold.leasing.health import judge
from leasehold.leasing.queries import get_resource
from leasehold.model.errors import (
    CloudUnavailableError,
    DuplicateError,
    InUseError,
    NotFoundError,
    SharedServiceHostError,
)
from leasehold.model.properties import names, parse
from leasehold.model.resource import HOST, HOST_POOL, Health
from leasehold.resource_types.slots.names import child_provider

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Hypervisor, Inventory
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.resource import Resource

log = logging.getLogger(__name__)

HOST_TASK = "host"
UNFINISHED = timedelta(seconds=30)
"""How long after its beginning an incomplete enrolment is undone."""


def enrol_host(service: Service, reference: str, properties: Mapping[str, str]) -> Resource:
    """Enrol the hypervisor with this exact hostname or id, and put it into the free pool.

    The cloud is changed first: every call may be repeated, so a second try works after a failure half-way. The host's
    task is written before, in case this process dies, and called off afterwards. If the task has already begun, or a
    removal or another enrolment changes the host's aggregates meanwhile, the task is made due once more.
    Raises NotFoundError, InUseError when it has servers, DuplicateError, SharedServiceHostError, CloudUnavailableError.
    """
    try:
        values = _discover(service, reference)
        _refuse_duplicate(service, values)
        by = service.now() + UNFINISHED
        service.db.transact(lambda connection: add_task_by(connection, HOST_TASK, values["id"], by))
        _give_provider(service, values["attributes"])
        _put_into_pool(service, values["attributes"])
    except CloudError as error:
        message = f"The cloud cannot be asked about {reference} now: {error}. Try again later."
        raise CloudUnavailableError(message) from error
    try:
        service.db.transact(lambda connection: _insert(connection, service, values, properties, by))
    except (IntegrityError, DuplicateError):
        # The first enrolment may already be leased: our call may have put the host back into the free pool.
        service.db.transact(lambda connection: add_task_once(connection, HOST_TASK, values["id"], service.now()))
        raise _duplicate(reference) from None
    except SharedServiceHostError:
        # The tasks release this host, and restore the aggregates of the host that was enrolled first.
        service.db.transact(lambda connection: _hurry_behind(connection, values, service.now()))
        raise
    finally:
        service.wake()
    return get_resource(service, HOST, values["id"])


def _discover(service: Service, reference: str) -> dict[str, Any]:
    cloud = service.cloud
    found = cloud.hypervisors.find(reference)
    if found is None:
        raise NotFoundError("host", reference)
    servers = cloud.servers.on_host(found.service_host)
    if servers:
        message = f"The host {reference} has {len(servers)} servers; move or delete them before you enrol it."
        raise InUseError(message)
    inventories = cloud.providers.inventories(found.hypervisor_hostname)
    health, down_since = judge(found, service.now(), service.settings.manager.failure_grace)
    return {
        "id": found.id,
        "type": HOST,
        "pool": HOST_POOL,
        "reference": found.hypervisor_hostname,
        "capacity": _capacity(found, inventories),
        "max_unit": {name: inventory.max_unit for name, inventory in inventories.items()},
        "attributes": _attributes(found, zones=service.settings.cloud.zones),
        "traits": sorted(cloud.providers.traits(found.hypervisor_hostname)),
        "reservable": health is Health.HEALTHY,
        "health": health,
        "down_since": down_since,
        "created_at": service.now(),
    }


def _capacity(host: Hypervisor, inventories: Mapping[str, Inventory]) -> dict[str, int]:
    """Return what can be allocated: the capacity in Placement, or else the hypervisor's own figure."""
    raw = {"VCPU": host.vcpus, "MEMORY_MB": host.memory_mb, "DISK_GB": host.local_gb}
    return raw | {name: inventory.capacity for name, inventory in inventories.items()}


def _attributes(host: Hypervisor, *, zones: bool) -> dict[str, Any]:
    return {
        "hypervisor_hostname": host.hypervisor_hostname,
        "hypervisor_type": host.hypervisor_type,
        "hypervisor_version": host.hypervisor_version,
        "service_name": host.service_host,
        "vcpus": host.vcpus,
        "memory_mb": host.memory_mb,
        "local_gb": host.local_gb,
        "cpu_info": host.cpu_info,
        "availability_zone": host.zone if zones else "",
        "status": None,
        "trust_id": None,
    }


def _give_provider(service: Service, attributes: Mapping[str, Any]) -> None:
    hostname = attributes["hypervisor_hostname"]
    service.cloud.providers.ensure_child(hostname, child_provider(hostname))


def _put_into_pool(service: Service, attributes: Mapping[str, Any]) -> None:
    aggregates, pool = service.cloud.aggregates, service.settings.cloud.freepool
    aggregates.ensure(pool, None, {})
    aggregates.add_host(pool, attributes["service_name"])


def _refuse_duplicate(service: Service, values: Mapping[str, Any]) -> None:
    """Check before the cloud is changed: a host in use must not go back into the free pool."""
    with service.db.reading() as connection:
        _check_new(connection, values)


def _check_new(connection: Connection, values: Mapping[str, Any]) -> None:
    """Raise DuplicateError if the host is enrolled, SharedServiceHostError if its compute service has an enrolled host.

    Aggregates contain compute services: all hypervisors of one (Ironic's nodes) would always be leased together.
    """
    if find_resource(connection, HOST, values["id"]) is not None:
        raise _duplicate(values["reference"])
    service_host = values["attributes"]["service_name"]
    behind = hosts_behind(connection, service_host)
    if behind:
        message = (
            f"{values['reference']} and the enrolled host {behind[0][1]} are behind one compute service, "
            f"{service_host}, and Nova's aggregates can only have both or neither. Give each hypervisor that is to be "
            "leased a nova-compute of its own, or remove the other host first."
        )
        raise SharedServiceHostError(message)


def _duplicate(name: str) -> DuplicateError:
    return DuplicateError(f"The host {name} is enrolled already; change its properties instead.")


def _hurry_behind(connection: Connection, values: Mapping[str, Any], now: datetime) -> None:
    behind = hosts_behind(connection, values["attributes"]["service_name"])
    for ident in sorted({values["id"], *(ident for ident, _ in behind)}):
        add_task_once(connection, HOST_TASK, ident, now)


def _insert(
    connection: Connection, service: Service, values: Mapping[str, Any], properties: Mapping[str, str], by: datetime
) -> None:
    generations = lock_pools(connection, {HOST_POOL})
    _check_new(connection, values)
    number = insert_resource(connection, {**values, "generation": generations[HOST_POOL] + 1})
    if not call_off_task(connection, HOST_TASK, values["id"], by):
        hurry_task(connection, HOST_TASK, values["id"], service.now())
    own = {name: value for name, value in properties.items() if name not in values["attributes"]}
    define_properties(connection, HOST, own, service.now())
    put_properties(connection, number, own)
    bump_pools(connection, generations)


def change_host(service: Service, host_id: str, properties: Mapping[str, str | None]) -> Resource:
    """Set properties of a host, all or none; the value None removes a property.

    Raises InUseError for a property that a current or future lease on the host asked for.
    """

    def work(connection: Connection) -> None:
        generations = lock_pools(connection, {HOST_POOL})
        host = _enrolled(connection, host_id)
        changed = {name for name, value in properties.items() if host.properties.get(name) != value}
        locked = sorted(changed & _names_in_use(requests_naming(connection, host.number, service.now())))
        if locked:
            message = f"Leases on host {host_id} ask for {', '.join(locked)}, so it cannot change before they end."
            raise InUseError(message, field=locked[0])
        given = [name for name, value in properties.items() if value is not None]
        define_properties(connection, HOST, given, service.now())
        put_properties(connection, host.number, properties)
        update_resources(connection, [host.number], generations[HOST_POOL] + 1, updated_at=service.now())
        bump_pools(connection, generations)

    service.db.transact(work)
    return get_resource(service, HOST, host_id)


def _names_in_use(requests: Iterable[Mapping[str, Any]]) -> set[str]:
    used: set[str] = set()
    for request in requests:
        for field in ("hypervisor_properties", "resource_properties"):
            used |= names(parse(request.get(field, ""), field))
    return used


def _enrolled(connection: Connection, host_id: str) -> Resource:
    host = find_resource(connection, HOST, host_id)
    if host is None:
        raise NotFoundError("host_id", host_id)
    return host


def remove_host(service: Service, host_id: str) -> None:
    """Take a host out of service; raises InUseError while it is allocated to a lease or has servers."""
    host = get_resource(service, HOST, host_id)
    with service.db.reading() as connection:
        # Refuse because of leases first: the servers on the host are probably theirs.
        _refuse_promised(connection, host, service.now())
    try:
        servers = service.cloud.servers.on_host(host.attributes["service_name"])
    except CloudError as error:
        message = f"The cloud cannot be asked about {host.label} now: {error}. Try again later."
        raise CloudUnavailableError(message) from error
    if servers:
        message = f"The host {host.label} has {len(servers)} servers; move or delete them first."
        raise InUseError(message)

    def work(connection: Connection) -> None:
        generations = lock_pools(connection, {HOST_POOL})
        enrolled = _enrolled(connection, host_id)
        _refuse_promised(connection, enrolled, service.now())
        remove_resource(connection, enrolled.number, generations[HOST_POOL] + 1, service.now())
        add_task_once(connection, HOST_TASK, host_id, service.now())
        bump_pools(connection, generations)

    service.db.transact(work)
    service.wake()


def _refuse_promised(connection: Connection, host: Resource, now: datetime) -> None:
    if in_use(connection, host.number, now):
        raise InUseError(f"The host {host.label} is allocated to leases; delete them or wait for their end.")


Standing = tuple[int, bool]
"""The number of a host's last enrolment, and whether it is still enrolled; every enrolment has a new number."""


def converge_host(service: Service, host_id: str) -> Standing | None:
    """Make the cloud match the database for a host: restore an enrolled host, release a removed one.

    The names are those of the enrolment, because the cloud may have lost the hypervisor since. Returns the host's
    standing when this began; the caller compares it with the standing afterwards.
    """
    with service.db.reading() as connection:
        host = last_resource(connection, HOST, host_id)
    if host is None:
        _undo_enrolment(service, host_id)
        return None
    if host.deleted_at is None:
        _converge_enrolled(service, host)
    else:
        _let_go(service, host.attributes["service_name"], host.attributes["hypervisor_hostname"])
    return host.number, host.deleted_at is None


def _undo_enrolment(service: Service, host_id: str) -> None:
    """Release a host whose first enrolment was not completed, by its names in the cloud."""
    found = service.cloud.hypervisors.find(host_id)
    if found is not None:
        _let_go(service, found.service_host, found.hypervisor_hostname)


def _let_go(service: Service, service_host: str, hostname: str) -> None:
    """Take a host out of the free pool, unless another host behind its compute service is enrolled; drop its provider.

    The membership then belongs to that other host.
    """
    with service.db.reading() as connection:
        others = [ident for ident, name in hosts_behind(connection, service_host) if name != hostname]
    if not others:
        service.cloud.aggregates.remove_host(service.settings.cloud.freepool, service_host)
    service.cloud.providers.delete(child_provider(hostname))


def standing(connection: Connection, host_id: str) -> Standing | None:
    """Return the present standing of a host; None when it was never enrolled."""
    host = last_resource(connection, HOST, host_id)
    return None if host is None else (host.number, host.deleted_at is None)


def _converge_enrolled(service: Service, host: Resource) -> None:
    """Put an enrolled host into the free pool, unless it is in the aggregate of a lease, which gives it back itself.

    An allocation is not enough: such a lease may be deleted before it begins, and then nothing would move the host. A
    lease that takes the host meanwhile is made due, and removes it from the free pool again.
    """
    try:
        _give_provider(service, host.attributes)
        if not _is_in_lease(service, host):
            _put_into_pool(service, host.attributes)
    except CloudPermanentError as error:
        # No retry: nothing waits for it, a retry would not restore the hypervisor, and the audit reports it again.
        log.warning("The enrolled host %s could not be put into the free pool: %s", host.label, error)
        return

    def hurry(connection: Connection) -> None:
        for lease_id in holders(connection, host, service.now()):
            hurry_task(connection, LEASE, lease_id, service.now())

    service.db.transact(hurry)


def _is_in_lease(service: Service, host: Resource) -> bool:
    """Return whether the host is in the aggregate of a reservation to which it is allocated."""
    with service.db.reading() as connection:
        names = [held.reservation_id for held in _whole(connection, host, service.now())]
    aggregates = (service.cloud.aggregates.get(name) for name in names)
    return any(found is not None and host.attributes["service_name"] in found.hosts for found in aggregates)


def holders(connection: Connection, host: Resource, now: datetime) -> set[str]:
    """Return the leases that have the whole host and have not released it."""
    return {held.lease_id for held in _whole(connection, host, now)}


def _whole(connection: Connection, host: Resource, now: datetime) -> list[Allocation]:
    return [held for held in unreleased_on(connection, [host.number], now) if held.demand is None]
