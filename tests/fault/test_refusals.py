"""One refused call never keeps a lease from its required state, whichever call of its life is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox.faults import Fault
from tests.factory import make_service, run_for, run_until
from tests.harness.faults import with_chosen_faults
from tests.harness.scenes import MANAGER_SCENES, lease_of
from tests.harness.stage import HOSTS
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.scenes import Scene

SOON = timedelta(minutes=1)
MOST_CALLS = 200
"""More calls than any scene makes, so that an endless scene is detected."""
SCENES = [scene for scene in MANAGER_SCENES if not scene.options]
"""Those that need no periodic look at the hosts."""


def play(folder: Path, scene: Scene, refused: int | None) -> list[str]:
    """Run a scene in which one call is refused, and a minute later be in its required state; return its calls."""
    place = folder / f"{scene.name}-{refused}"
    place.mkdir()

    def refuse(verb: str, number: int) -> Fault | None:
        return Fault(verb, error="before", permanent=True) if number == refused else None

    with make_service(place, hosts=HOSTS, addresses=range(200, 203)) as fair:
        world, faults = with_chosen_faults(fair)
        scene.setting(world)
        faults.begin(refuse)
        run_until(world, world.now() + SOON)
        calls, lease = list(faults.calls), lease_of(world)
        found = None if lease is None else (lease.status, lease.status_reason)
        assert scene.right(world), (refused, refused is not None and calls[refused], found)
        assert lease is None or lease.status_reason is None, found
        audit(world)
        audit_cloud(world)
        run_for(world, hours=7)
        audit(world)
        audit_cloud(world)
        lease = lease_of(world)
        assert lease is None or lease.status == "TERMINATED"
        return calls


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_one_refused_call_ends_no_promise(tmp_path: Path, scene: Scene) -> None:
    calls = play(tmp_path, scene, None)
    assert 0 < len(calls) < MOST_CALLS
    for place in range(len(calls)):
        play(tmp_path, scene, place)
