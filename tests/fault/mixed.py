"""The lease that the scenes use: reservations of all four types, with a server in each type that runs servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.model.resource import HOST
from leasehold.model.states import EventType
from tests.factory import flavors, floating_ips, hosts, instances

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

BIG = '[">=", "$vcpus", "16"]'


def wishes() -> tuple[dict[str, Any], ...]:
    """Return the requested reservations, one of each type."""
    return (hosts(before_end="snapshot"), instances(2, resource_properties=BIG), flavors(), floating_ips())


def more_of(lease: Lease) -> tuple[dict[str, Any], ...]:
    """Return a change that asks for more of every reservation that an active lease may grow."""
    return (
        {"id": lease.reservations[0].id, "min": 2, "max": 2},
        {"id": lease.reservations[1].id, "amount": 3},
        {"id": lease.reservations[3].id, "amount": 2},
    )


def boot_in(world: World, lease: Lease) -> None:
    """Boot a server in each reservation that runs servers."""
    for part in lease.reservations[:3]:
        flavor, hints = ("m1.small", [part.id]) if part.resource_type == HOST else (part.id, [])
        server = world.cloud.servers.boot(f"on-{part.resource_type}", "demo", flavor, hints)
        assert server.service_host is not None, world.cloud.servers.fault(server.id)


def is_warned(world: World, lease: Lease) -> bool:
    """Return whether the `before_end` event is done and exactly the image of this warning exists."""
    event = lease.event(EventType.BEFORE_END)
    images = [image.name for server in world.cloud.servers.all() for image in world.cloud.images.of_server(server.id)]
    return event is not None and event.status == "DONE" and images == ["reserved_on-physical:host"]
