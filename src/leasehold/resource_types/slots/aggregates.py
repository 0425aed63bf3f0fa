"""The aggregates of reservations: which of them are ours, and how one that is left over is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.resource import HOST
from leasehold.resource_types.look import RESERVATION_ID, CloudObject
from leasehold.resource_types.slots.names import RESERVATION_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.ports import Aggregate
    from leasehold.resource_types.look import Look

AGGREGATE = "aggregate"


def of_hosts(look: Look) -> Iterator[Aggregate]:
    """Yield the aggregates with the name and the mark of a reservation of whole hosts."""
    for each in look.observation.aggregates.values():
        marked = look.settings.owner_key in each.metadata and RESERVATION_KEY not in each.metadata
        if marked and RESERVATION_ID.fullmatch(each.name):
            yield each


def of_slots(look: Look) -> Iterator[Aggregate]:
    """Yield the aggregates with the name and the mark of a reservation of slots."""
    for each in look.observation.aggregates.values():
        if each.metadata.get(RESERVATION_KEY) == each.name and RESERVATION_ID.fullmatch(each.name):
            yield each


def as_object(aggregate: Aggregate) -> CloudObject:
    """Return the aggregate as an object of its reservation."""
    return CloudObject(AGGREGATE, aggregate.name, aggregate.name)


def is_used(look: Look, name: str) -> bool:
    """Return whether a host that would leave all our aggregates with this one has servers."""
    return any(look.cloud.servers.on_host(host) for host in _leaving(look, name))


def remove_aggregate(look: Look, name: str) -> None:
    """Remove an aggregate; first put its enrolled hosts back into the free pool, unless a lease has them."""
    aggregates = look.cloud.aggregates
    enrolled = {host.number: host.attributes["service_name"] for host in look.records.enrolled(HOST)}
    leased = {enrolled[number] for number in look.records.whole(enrolled.keys())}
    for host in _leaving(look, name):
        if host in enrolled.values() and host not in leased:
            aggregates.add_host(look.settings.freepool, host)
    for host in sorted(look.observation.aggregates[name].hosts):
        aggregates.remove_host(name, host)
    aggregates.delete(name)


def _leaving(look: Look, name: str) -> list[str]:
    """Return the hosts of this aggregate that are in neither the free pool nor another host reservation's aggregate."""
    pool = look.observation.aggregates.get(look.settings.freepool)
    others = [each.hosts for each in of_hosts(look) if each.name != name] + ([pool.hosts] if pool else [])
    return sorted(look.observation.aggregates[name].hosts.difference(*others))
