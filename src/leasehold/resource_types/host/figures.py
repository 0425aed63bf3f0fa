"""What Nova and Placement say about servers on shared hosts, before any of them moves (feature A4). Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.placing.draw import Guest, Room
from leasehold.resource_types.preemption import stays_on_draw
from leasehold.resource_types.slots.room import amounts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.conf.settings import CloudSettings


def sized(
    cloud: Cloud, settings: CloudSettings, servers: Mapping[int, Sequence[Server]]
) -> Mapping[int, Sequence[Guest]]:
    """Return the servers on each host with their sizes; each flavor is asked for once."""
    wanted = {server.flavor_id for found in servers.values() for server in found}
    flavors = {each: cloud.flavors.get(each) for each in sorted(wanted)}
    sizes = {each: None if flavor is None else amounts_of(flavor) for each, flavor in flavors.items()}
    return {
        number: [
            Guest(each.id, each.status, stays_on_draw(each, settings), sizes[each.flavor_id], each.created_at)
            for each in found
        ]
        for number, found in servers.items()
    }


def room_on(cloud: Cloud, hostname: str) -> Room:
    """Return what Placement would still give to servers on a host, by resource class."""
    inventories, used = cloud.providers.inventories(hostname), cloud.providers.usages(hostname)
    free = {name: max(0, each.capacity - used.get(name, 0)) for name, each in inventories.items()}
    return Room(free, {name: each.max_unit for name, each in inventories.items()})
