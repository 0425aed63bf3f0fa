"""The law of the flags (feature J4), on random failures and recoveries, against a statement of it by hand."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.manager.monitor import check_once
from leasehold.model.errors import NotEnoughError
from leasehold.model.terms.heal_policy import HealPolicy
from tests.factory import Clock, flavors, hosts, instances, open_service, run_for, run_manager
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")
REQUESTS = (hosts(), hosts(2), hosts(1, 3), instances(4, 2), instances(3, 1, affinity=False), flavors(2, "m1.medium"))
STEPS = st.one_of(
    st.tuples(st.sampled_from(["fail", "recover"]), st.sampled_from(HOSTS)),
    st.tuples(st.just("wait"), st.sampled_from([1, 5, 20])),
    st.tuples(st.just("end"), st.integers(0, 4)),
)
LEASES = st.lists(
    st.tuples(st.sampled_from(REQUESTS), st.sampled_from([0, 0, 0.25, 0.5]), st.sampled_from([*HealPolicy, None])),
    min_size=1,
    max_size=4,
)


@dataclass
class Known:
    """What the test knows of a lease: how much it was promised, and what it had when it was active first."""

    lease: Lease
    promised: int
    at_start: dict[str, int] | None = None
    told: list[str] = field(default_factory=list)
    before: tuple[bool, bool, bool] = (False, False, False)


def check_law(world: World, known: Known, down: set[str]) -> None:
    """Compare the flags with what the law says, and the events with the changes of the flags."""
    lease, part = world.get(known.lease), world.part(known.lease)
    if lease.status not in ("PENDING", "ACTIVE"):
        return
    held = world.holds(known.lease)
    if lease.status == "ACTIVE" and known.at_start is None:
        known.at_start = held
    working = sum(slots for name, slots in held.items() if name not in down)
    missing = working < known.promised
    # One that started with nothing has changed once it has something.
    first = held if known.at_start is None else known.at_start
    changed = any(slots > first.get(name, 0) for name, slots in held.items())
    found = (part.missing_resources, part.resources_changed, lease.degraded)
    assert found == (missing, changed, missing or changed), (lease, held, down, known)
    assert sum(held.values()) <= known.promised
    assert (events(world, lease) == known.told) == (found == known.before), known
    known.before, known.told = found, events(world, lease)


def events(world: World, lease: Lease) -> list[str]:
    query = select(outbox.c.event_type).where(outbox.c.lease_id == lease.id).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        return [name for name in connection.execute(query).scalars() if name in ("lease.degraded", "lease.restored")]


def made(world: World, wishes: list[tuple[dict[str, Any], float, HealPolicy | None]]) -> list[Known]:
    """Return those of the leases that fit, each after its start if it begins now."""
    found = []
    for wish, start, policy in wishes:
        try:
            lease = world.lease(wish, start=start, end=3, heal_policy=policy)
        except NotEnoughError:
            continue
        found.append(Known(lease, sum(world.holds(lease).values())))
    run_manager(world)
    return found


@settings(max_examples=60)
@given(wishes=LEASES, steps=st.lists(STEPS, max_size=14))
@example(
    wishes=[
        (hosts(), start, policy)
        for start, policy in ((0, HealPolicy.NEVER), (0, None), (0.25, HealPolicy.REPLACE), (0, HealPolicy.REPLACE))
    ],
    steps=[("fail", "cmp-06"), ("fail", "gpu-03"), ("wait", 20), ("wait", 1), ("end", 3)],
)
def test_the_flags_hold_exactly_as_long_as_they_are_true(
    enrolled: Path, wishes: list[tuple[dict[str, Any], float, HealPolicy | None]], steps: list[tuple[str, Any]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(enrolled, Path(folder) / "leasehold.db")
        world = open_service(f"sqlite:///{folder}/leasehold.db", clock=Clock())
        leases = made(world, wishes)
        down: set[str] = set()
        for known in leases:
            check_law(world, known, down)
        for step, what in steps:
            world.clock.advance(seconds=1)
            if step == "fail":
                world.cloud.hypervisors.fail(what)
                down.add(what)
            elif step == "recover":
                world.cloud.hypervisors.recover(what)
                down.discard(what)
            elif step == "wait":
                run_for(world, minutes=what)
            elif what < len(leases):
                world.delete(leases.pop(what).lease)
            run_manager(world)
            # A lease that started meanwhile had these resources then.
            for known in leases:
                if known.at_start is None and world.status(known.lease) == "ACTIVE":
                    known.at_start = world.holds(known.lease)
            check_once(world.service)
            run_manager(world)
            for known in leases:
                check_law(world, known, down)
            audit(world)
        run_for(world, minutes=5)
        assert findings(world) == []
        world.engine.dispose()
