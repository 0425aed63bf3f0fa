"""One refused call never keeps a lease from its required state, whichever call of its life is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.factory import make_service, run_for, run_manager, run_until
from tests.fault.mixed import boot_in, is_warned, more_of, wishes
from tests.fault.refusals import refusing
from tests.fault.stage import HOSTS
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

SOON = timedelta(minutes=1)
MOST_CALLS = 200
"""More calls than any scene makes, so that an endless scene is detected."""


@dataclass(frozen=True, slots=True)
class Scene:
    """An action on a lease of all four types with its servers, and the required state a minute later."""

    name: str
    set_up: Callable[[World], Lease]
    right: Callable[[World, Lease], bool]


def to_come(world: World) -> Lease:
    return world.lease(*wishes(), start=1, end=5)


def due(world: World) -> Lease:
    return world.lease(*wishes(), end=5)


def active(world: World, before_end: float | None = None) -> Lease:
    warning = None if before_end is None else world.hour(before_end)
    lease = world.lease(*wishes(), end=5, before_end=warning)
    run_manager(world)
    assert world.get(lease).status == "ACTIVE"
    boot_in(world, lease)
    world.clock.advance(minutes=30)
    return lease


def amended(world: World) -> Lease:
    lease = active(world)
    world.amend(lease, end=6, reservations=more_of(lease))
    return lease


def warned(world: World) -> Lease:
    return active(world, before_end=0.5)


def ending(world: World) -> Lease:
    lease = active(world)
    world.amend(lease, end=0.5)
    return lease


def deleted(world: World) -> Lease:
    lease = active(world)
    world.delete(lease)
    return lease


def is_now(status: str) -> Callable[[World, Lease], bool]:
    def right(world: World, lease: Lease) -> bool:
        found = world.get(lease)
        return (found.status, found.status_reason) == (status, None)

    return right


is_active = is_now("ACTIVE")

SCENES = (
    Scene("prepare", to_come, is_now("PENDING")),
    Scene("start", due, is_active),
    Scene("amend", amended, is_active),
    Scene("before_end", warned, lambda world, lease: is_warned(world, world.get(lease)) and is_active(world, lease)),
    Scene("end", ending, is_now("TERMINATED")),
    Scene("delete", deleted, lambda world, lease: not world.exists(lease)),
)


def play(folder: Path, scene: Scene, refused: int | None) -> list[str]:
    """Run a scene in which one call is refused; return its calls."""
    place = folder / f"{scene.name}-{refused}"
    place.mkdir()
    with make_service(place, hosts=HOSTS, addresses=range(200, 203)) as world:
        refusals = refusing(world)
        lease = scene.set_up(world)
        refusals.begin(() if refused is None else {refused})
        run_until(world, world.now() + SOON)
        calls = list(refusals.calls)
        found = [(each.status, each.status_reason) for each in (world.get(lease),)] if world.exists(lease) else None
        assert scene.right(world, lease), (refused, refused is not None and calls[refused], found)
        audit(world)
        audit_cloud(world)
        run_for(world, hours=6)
        audit(world)
        audit_cloud(world)
        assert not world.exists(lease) or world.get(lease).status == "TERMINATED"
        return calls


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_one_refused_call_ends_no_promise(tmp_path: Path, scene: Scene) -> None:
    calls = play(tmp_path, scene, None)
    assert 0 < len(calls) < MOST_CALLS
    for place in range(len(calls)):
        play(tmp_path, scene, place)
