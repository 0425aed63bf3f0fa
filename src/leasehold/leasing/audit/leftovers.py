"""Find cloud objects of reservations that are over or unknown.

An object is ours if it has both our name and our mark: an aggregate named by a reservation's id with the owner's key, a
flavor of that id with our extra spec, a floating IP with our tags. A resource class or a server group has only the
name. Only objects of a reservation that is over in the database are removed: such a reservation never comes back.
Objects of unknown reservations may belong to another installation, or date from before a restore of the database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.db.audit import IDLE, owners, work_of
from leasehold.db.resource import list_resources
from leasehold.db.task import LEASE
from leasehold.leasing.audit.finding import REPAIR, Finding, Kind, Mend
from leasehold.model.resource import FLOATING_IP
from leasehold.resource_types.driver import MARK, mark_of
from leasehold.resource_types.floatingip.driver import TAG
from leasehold.resource_types.slots.names import FLAVOR_KEY, RESERVATION_KEY, resource_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.observing import Observation
    from leasehold.cloud.ports import Aggregate, FloatingIp
    from leasehold.leasing.service import Service

IDENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLASS_OF = resource_class("")
_UNKNOWN = (
    "Another installation may use it, or it dates from before a restore of the database. If it is unused, remove it by "
    "hand."
)


class Sort(StrEnum):
    """The sorts of objects that reservations have in the cloud."""

    AGGREGATE = "aggregate"
    FLAVOR = "flavor"
    CLASS = "resource class"
    ADDRESS = "floating IP"
    GROUP = "server group"


@dataclass(frozen=True, slots=True)
class Thing:
    """A cloud object of a reservation; `key` identifies it in the cloud, and `label` is its name for people."""

    sort: Sort
    key: str
    reservation_id: str
    label: str = ""

    def __str__(self) -> str:
        """Return the sort and the name by which an operator finds it in the cloud."""
        return f"{self.sort} {self.label or self.key}"


def audit_leftovers(service: Service, observation: Observation) -> Iterator[Finding]:
    """Yield a finding for each reservation that is over or unknown and has cloud objects; reads the cloud first."""
    things: dict[str, list[Thing]] = {}
    for thing in things_of_ours(service, observation):
        things.setdefault(thing.reservation_id, []).append(thing)
    now = service.now()
    with service.db.reading() as connection:
        known = owners(connection, things.keys())
        over = {ident: owner.lease_id for ident, owner in known.items() if owner.over}
        leases = sorted(set(over.values()))
        busy = {lease_id for lease_id in leases if (work_of(connection, LEASE, lease_id) or IDLE).busy(now)}
    for ident, found in sorted(things.items()):
        has = ", ".join(map(str, found))
        if ident not in known:
            what = f"The reservation {ident} is not in the database, but the cloud has: {has}."
            yield Finding(Kind.LEFTOVER, ident, what, _UNKNOWN)
        elif ident in over and over[ident] not in busy:
            what = f"The reservation {ident} of lease {over[ident]} is over, but the cloud still has: {has}."
            yield Finding(Kind.LEFTOVER, ident, what, REPAIR, Mend.REMOVAL)


def things_of_ours(service: Service, observation: Observation) -> Iterator[Thing]:
    """Yield all cloud objects that have a reservation's name and our mark."""
    for aggregate in observation.aggregates.values():
        if is_of_hosts(service, aggregate) or _is_of_slots(aggregate):
            yield Thing(Sort.AGGREGATE, aggregate.name, aggregate.name)
    for flavor in service.cloud.flavors.list():
        if flavor.extra_specs.get(FLAVOR_KEY) == flavor.id and IDENT.fullmatch(flavor.id):
            yield Thing(Sort.FLAVOR, flavor.id, flavor.id)
    for name in sorted(observation.classes):
        ident = name.removeprefix(CLASS_OF).lower().replace("_", "-")
        if resource_class(ident) == name and IDENT.fullmatch(ident):
            yield Thing(Sort.CLASS, name, ident)
    for group in observation.groups.values():
        ident = group.name.removeprefix(MARK)
        if mark_of(ident) == group.name and IDENT.fullmatch(ident):
            yield Thing(Sort.GROUP, group.id, ident)
    if leases_addresses(service):
        yield from _addresses(service)


def leases_addresses(service: Service) -> bool:
    """Return whether to ask the cloud about floating IPs: the type is switched on, or addresses are still enrolled.

    A cloud without a network service has neither; if it once had one, the operator sets `forgotten_plugins`.
    """
    if FLOATING_IP in service.types.by_name:
        return True
    if FLOATING_IP in service.settings.manager.forgotten_plugins:
        return False
    with service.db.reading() as connection:
        return bool(list_resources(connection, FLOATING_IP))


def is_of_hosts(service: Service, aggregate: Aggregate) -> bool:
    """Return whether an aggregate has the name and the mark of a host reservation."""
    marked = service.settings.cloud.owner_key in aggregate.metadata and RESERVATION_KEY not in aggregate.metadata
    return marked and IDENT.fullmatch(aggregate.name) is not None


def _is_of_slots(aggregate: Aggregate) -> bool:
    return aggregate.metadata.get(RESERVATION_KEY) == aggregate.name and IDENT.fullmatch(aggregate.name) is not None


def _addresses(service: Service) -> Iterator[Thing]:
    for address in service.cloud.networks.list_floating_ips(TAG):
        ident = reservation_of(address)
        if ident is not None:
            yield Thing(Sort.ADDRESS, address.id, ident, address.address)


def reservation_of(address: FloatingIp) -> str | None:
    """Return the reservation that the tags of a floating IP name; None if they name none or several."""
    marks = [tag.removeprefix(MARK) for tag in address.tags if tag.startswith(MARK)]
    return marks[0] if TAG in address.tags and len(marks) == 1 and IDENT.fullmatch(marks[0]) else None
