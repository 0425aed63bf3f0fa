"""The scenes in which programs are killed: the state before, the program's work, and the required end state.

Each scene has one lease with reservations of all four types, with a server in each type that runs servers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.leasing.create import create_lease
from leasehold.leasing.reading.queries import each_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.resource import HOST
from leasehold.model.states import EventType
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import DEMO, flavors, floating_ips, hosts, instances, run_manager
from tests.harness.programs import MANAGER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.model.lease import Lease
    from tests.factory import World
    from tests.harness.programs import Program
    from tests.harness.stage import Stage
    from tests.processes import Options

NAME = "lease"
HOUR = timedelta(hours=1)
MORE = "gpu-02.example"
"""A host of the cloud that is not enrolled."""
USED = "on-flavor:instance"
"""The server of the reservation that is used in the scene of a no-show."""
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


@dataclass(frozen=True, slots=True)
class Scene:
    """Work of a program: what `setting` prepares, and `right`, which tells whether the lease is as the work leaves it.

    The setting lasts `age` hours of the world's clock. A manager does its work unprompted.
    """

    name: str
    setting: Callable[[World], object]
    right: Callable[[World], bool]
    age: float = 0
    options: Options = field(default_factory=dict)
    program: str = MANAGER

    def set_up(self, stage: Stage) -> None:
        """Create the state before the program starts; it begins in the past and ends now."""
        stage.clock.behind = self.age * HOUR
        self.setting(stage.world)
        assert not stage.clock.behind

    def act(self, stage: Stage, program: Program) -> None:
        """Let the program do all the work, and wait until it finished."""
        self.finish(stage, None, [program])
        stage.check()

    def begin(self, _stage: Stage, _program: Program) -> Any:
        """Let the program start the work; the return value is passed to `finish`."""

    def finish(self, stage: Stage, begun: Any, others: Sequence[Program]) -> float:
        """Wait until the state is correct, check the client's answer, and return the seconds it took."""
        return stage.wait_until(self.right)


def lease_of(world: World) -> Lease | None:
    """Return the lease of the scene, or None after its deletion."""
    found = list(each_lease(world.service, None))
    assert len(found) <= 1, found
    return found[0] if found else None


def grant(world: World, start: float, end: float, before_end: float | None = None, **ending: Any) -> Lease:
    """Grant the lease; the times are hours from the world's present, and its hosts end with `ending`."""
    now = world.now().replace(microsecond=0)
    warning = None if before_end is None else now + before_end * HOUR
    of_hosts, *others = wishes()
    asked = ({**of_hosts, **ending}, *others)
    draft = LeaseDraft(NAME, now + start * HOUR, now + end * HOUR, warning, asked, fingerprint="a")
    return create_lease(world.service, DEMO, draft)


def pending(world: World) -> None:
    grant(world, 1, 5)


def _due(world: World) -> None:
    grant(world, 1, 5)
    run_manager(world)
    world.clock.advance(hours=2)


def active(world: World, before_end: float | None = None, **ending: Any) -> Lease:
    """Start the lease, boot servers in it, and let an hour pass."""
    lease = grant(world, 0, 5, before_end, **ending)
    run_manager(world)
    assert is_active(world), lease_of(world)
    boot_in(world, lease)
    world.clock.advance(hours=1)
    return lease


def _amended(world: World) -> None:
    """Request more of everything an active lease may grow, and a later end."""
    lease = active(world)
    world.amend(lease, end=lease.window.end + HOUR, reservations=more_of(lease))


def _failed(world: World) -> None:
    """Break the host of the host reservation; no manager has noticed it yet."""
    (label,) = world.holds(active(world))
    world.cloud.hypervisors.fail(label)


def _freed(world: World) -> None:
    """Let a lease wait for a host more than there is, and enrol that host."""
    wait_for_another_host(world)
    world.enrol(MORE)


def _too_late(world: World) -> None:
    """Let a lease wait for a host more than there is; its deadline passes before a manager looks."""
    wait_for_another_host(world)
    world.clock.advance(hours=1)


def wait_for_another_host(world: World) -> None:
    now = world.now().replace(microsecond=0)
    every = hosts(len(world.listed()) + 1)
    draft = LeaseDraft(NAME, now, now + 5 * HOUR, reservations=(every, floating_ips()), fingerprint="a")
    draft = replace(draft, type=LeaseType.WAITLIST, deadline=now + HOUR / 2)
    assert create_lease(world.service, DEMO, draft).waits


def _ending(world: World) -> None:
    world.amend(active(world), end=world.now())


def _outlived(world: World) -> None:
    """End a lease whose servers live on for half an hour: of hosts, instances and flavors; that time is over now."""
    lease, half = active(world), {"grace_seconds": 1800}
    world.amend(lease, end=world.now(), reservations=tuple({"id": part.id, **half} for part in lease.reservations[:3]))
    run_manager(world)
    there = sorted(server.name for server in world.cloud.servers.all() if server.status == "ACTIVE")
    assert there == sorted(f"on-{part.resource_type}" for part in lease.reservations[:3]), there
    world.clock.advance(hours=1)


def _leaving(world: World) -> None:
    """End a lease whose host has a server, and is given back with it."""
    world.amend(active(world, on_end="give_back"), end=world.now())


def _left(world: World) -> bool:
    """Say whether the lease is over, and its host serves everybody with the server that it had."""
    lease = lease_of(world)
    if lease is None or lease.status != "TERMINATED":
        return False
    there = {server.name: server.service_host for server in world.cloud.servers.all()}
    shared = {host.attributes["service_name"] for host in world.listed() if host.membership == "shared"}
    return set(there) == {f"on-{HOST}"} and set(there.values()) == shared


def _asked_before_end(world: World, action: str, **ending: Any) -> None:
    """End a lease whose hosts have a server, of which this is asked."""
    lease = active(world, **ending)
    world.amend(lease, end=world.now(), reservations=({"id": lease.reservations[0].id, "before_end": action},))


def _is_over_with(status: str, pool: str | None) -> Callable[[World], bool]:
    """Say whether the lease is over, and only its server on hosts is left, in this status and on such a host."""

    def right(world: World) -> bool:
        pools = {host.attributes["service_name"]: str(host.membership) for host in world.listed()}
        there = [each for each in world.cloud.servers.all() if each.status != "DELETING"]
        left = [(each.name, each.status, pools.get(each.service_host or "")) for each in there]
        return _is("TERMINATED")(world) and left == [(f"on-{HOST}", status, pool)]

    return right


def _unused(world: World) -> None:
    """Leave hosts and instances of a lease unused; its owner was warned, and the time of the no-show is over now."""
    lease = active(world)
    world.amend(lease, reservations=tuple({"id": part.id, "no_show_seconds": 1800} for part in lease.reservations[:3]))
    for server in world.cloud.servers.all():
        if server.name != USED:
            world.cloud.servers.delete(server.id)
    for _quarter in range(2):
        run_manager(world)
        world.clock.advance(minutes=15)
    states = [world.part(lease, position).no_show for position in range(3)]
    assert [each is not None and each.done for each in states] == [False, False, True], states


def _is(status: str) -> Callable[[World], bool]:
    def right(world: World) -> bool:
        lease = lease_of(world)
        return lease is not None and lease.status == status

    return right


def is_gone(world: World) -> bool:
    return lease_of(world) is None


def _healed(world: World) -> bool:
    lease = lease_of(world)
    return lease is not None and lease.status == "ACTIVE" and lease.degraded


def _is_released(world: World) -> bool:
    """Return whether the lease has only the reservation that it uses, and its address."""
    lease = lease_of(world)
    held = [] if lease is None else [len(world.holds(lease, position)) for position in range(4)]
    return is_active(world) and held == [0, 0, 1, 1]


def _warned(world: World) -> bool:
    lease = lease_of(world)
    return lease is not None and is_warned(world, lease) and is_active(world)


is_active = _is("ACTIVE")

MANAGER_SCENES = (
    Scene("prepare", pending, _is("PENDING")),
    Scene("start", _due, is_active, 2),
    Scene("start now", lambda world: grant(world, 0, 5), is_active),
    Scene("grant", _freed, is_active),
    Scene("time out", _too_late, _is("TIMEDOUT"), 1),
    Scene("amend", _amended, is_active, 1),
    Scene("heal", _failed, _healed, 1, {"physical:host": {"polling_interval": 1, "failure_grace": 0}}),
    Scene("before_end", lambda world: active(world, before_end=0.5), _warned, 1),
    Scene("end", _ending, _is("TERMINATED"), 1),
    Scene("give back", _leaving, _left, 1),
    Scene(
        "shelve",
        lambda world: _asked_before_end(world, "shelve"),
        _is_over_with("SHELVED_OFFLOADED", None),
        1,
    ),
    Scene(
        "suspend",
        lambda world: _asked_before_end(world, "suspend", on_end="give_back"),
        _is_over_with("SUSPENDED", "shared"),
        1,
    ),
    Scene("outlived", _outlived, _is("TERMINATED"), 2),
    Scene("no-show", _unused, _is_released, 1.5),
    Scene("delete", lambda world: world.delete(active(world)), is_gone, 1),
)
