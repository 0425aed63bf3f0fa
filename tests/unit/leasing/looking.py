"""Shared by tests of the audit: what it finds in the database and in the cloud, and a lease of every type to spoil."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.audit.database import audit_database
from leasehold.features.audit.repair import repair
from leasehold.leasing.reading.queries import each_lease
from leasehold.resource_types.slots.names import child_provider
from tests.factory import flavors, floating_ips, hosts, instances, run_until

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.cloud.ports import Flavor
    from leasehold.model.finding import Finding
    from leasehold.model.lease import Lease
    from tests.factory import World

AT_ONCE = Pace(wait=lambda _seconds: None)


def findings(world: World) -> list[Finding]:
    """Return what the cloud audit finds, with a clock that advances by 1 ms at each reading."""

    def now() -> datetime:
        world.clock.advance(milliseconds=1)
        return world.now()

    return audit_cloud(replace(world.service, now=now), AT_ONCE)


def in_database(world: World) -> list[Finding]:
    """Return what the database audit finds."""
    with world.service.db.reading() as connection:
        return audit_database(connection, world.now())


def mend(world: World) -> list[str | None]:
    """Repair each finding as `--repair` does, and return the result of each repair."""
    return [repair(world.service, finding) for finding in findings(world)]


@dataclass(frozen=True)
class Scene:
    """A world with an active, a pending and an ended lease, and short names for what the active one has."""

    world: World
    lease: Lease
    coming: Lease
    over: Lease

    @property
    def cloud(self) -> Any:
        return self.world.cloud

    @property
    def hosts(self) -> str:
        return self.lease.reservations[0].id

    @property
    def slots(self) -> str:
        return self.lease.reservations[1].id

    @property
    def left(self) -> str:
        """Return the reservation of the ended lease."""
        return self.over.reservations[0].id

    def host(self) -> str:
        return min(self.world.members(self.hosts))

    def free(self) -> str:
        """Return a host in the free pool that has no slots."""
        return min(self.world.members("freepool") - self.world.members(self.slots))

    def provider(self) -> str:
        return child_provider(min(self.world.members(self.slots)))

    def flavor(self) -> Flavor:
        found: Flavor | None = self.cloud.flavors.get(self.slots)
        assert found is not None
        return found


def lease_of_everything(world: World) -> None:
    """Make an active lease of every resource type, beside a pending and an ended lease; it is hour 2 then."""
    world.lease(hosts(2), instances(3), flavors(2), floating_ips(1), start=0, end=4)
    world.lease(hosts(1), instances(1), flavors(1), start=5, end=6)
    world.lease(hosts(1), floating_ips(1), start=0, end=1)
    run_until(world, world.hour(2))
    assert findings(world) == []


def scene_of(world: World) -> Scene:
    """Return the leases that `lease_of_everything` made."""
    found = {str(each.status): each for each in list(each_lease(world.service, None))}
    return Scene(world, found["ACTIVE"], found["PENDING"], found["TERMINATED"])
