"""The scenes in which hosts change their pool: asked for by an operator, or for a best-effort lease."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.leasing.create import create_lease
from leasehold.leasing.resources.resource import change
from leasehold.model.draft import LeaseDraft
from leasehold.model.membership import Membership
from leasehold.model.resource import HOST, Disabling
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import DEMO, hosts, run_manager
from tests.harness.mix import HOSTS
from tests.harness.scenes import HOUR, MORE, NAME, Scene, grant, is_active, lease_of, pending

if TYPE_CHECKING:
    from tests.factory import World

GUEST = "web"
GIVEN = "cmp-02"
"""A host that no reservation of the scenes gets."""


def _with_guest(world: World) -> str:
    """Return the name of a host that serves everybody and has a server."""
    server = world.cloud.servers.boot(GUEST, "alt", "m1.small", [])
    there = {each.service_host: each.hypervisor_hostname for each in world.cloud.hypervisors.list()}
    name = there[str(server.service_host)]
    world.share(name)
    run_manager(world)
    return name


def _drawing(world: World) -> None:
    """Let a host that serves everybody be drawn into the reservation pool; its server has to go to another one."""
    pending(world)
    name = _with_guest(world)
    change(world.service, HOST, world.hosts[name].id, {}, pool=Membership.RESERVATION)


def _drawn_for(world: World) -> None:
    """Let a best-effort lease wait for a host more than there is: the one with a guest is drawn for it."""
    _with_guest(world)
    world.share(MORE)
    # The other shared host is for the guest: nobody can draw it.
    change(world.service, HOST, world.hosts[MORE].id, {}, Disabling(disabled=True, reason=None, by=DEMO))
    now, every = world.now().replace(microsecond=0), hosts(len(world.listed()) - 1)
    draft = LeaseDraft(NAME, now, now + 5 * HOUR, reservations=(every,), fingerprint="a")
    draft = replace(draft, type=LeaseType.BEST_EFFORT, deadline=now + HOUR / 2)
    assert create_lease(world.service, DEMO, draft).waits


def _drawn_in_vain(world: World) -> None:
    """Let the deadline of a best-effort lease pass while a host is drawn for it."""
    _drawn_for(world)
    world.clock.advance(hours=1)


def _sharing(world: World) -> None:
    """Let a host of the reservation pool serve everybody."""
    (held,) = world.holds(grant(world, 1, 5))
    assert held != GIVEN
    (host,) = (each for each in world.listed() if each.label == GIVEN)
    change(world.service, HOST, host.id, {}, pool=Membership.SHARED)


def _is_drawn(world: World) -> bool:
    """Return whether the host is in the reservation pool, and its server runs on another one."""
    host = world.listed()[-1]
    (server,) = world.cloud.servers.all()
    elsewhere = server.status == "ACTIVE" and server.service_host != host.attributes["service_name"]
    return host.membership is Membership.RESERVATION and host.bookable and elsewhere


def _is_shared(world: World) -> bool:
    return [each.label for each in world.listed() if each.membership is Membership.SHARED] == [GIVEN]


def _is_granted(world: World) -> bool:
    """Return whether the lease is active with every host but the other shared one, and the guest lives."""
    (server,) = world.cloud.servers.all()
    elsewhere = {MORE} == {each.label for each in world.listed() if each.membership is Membership.SHARED}
    held = any(each.held_for for each in world.listed())
    return is_active(world) and elsewhere and not held and server.status == "ACTIVE"


def _is_as_it_was(world: World) -> bool:
    """Return whether the lease has timed out, and the hosts are where they were; the guest may be on another one."""
    shared = [each for each in world.listed() if each.membership is Membership.SHARED]
    (server,) = world.cloud.servers.all()
    lease, held = lease_of(world), any(each.held_for for each in world.listed())
    back = len(shared) == len(world.listed()) - len(HOSTS) and not held and server.status == "ACTIVE"
    return back and lease is not None and lease.status is LeaseStatus.TIMEDOUT


DRAW_SCENES = (
    Scene("draw", _drawing, _is_drawn),
    Scene("share", _sharing, _is_shared),
    Scene("best effort", _drawn_for, _is_granted),
    Scene("best effort in vain", _drawn_in_vain, _is_as_it_was, 1),
)
