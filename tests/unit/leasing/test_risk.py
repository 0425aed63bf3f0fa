"""Feature D8: who leases a resource for later is told at once when it fails, before healing looks at the lease."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leasehold.manager.monitor import check_once
from tests.factory import Clock, hosts, open_service, planted_database, run_for, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.test_heal import flags
from tests.unit.leasing.test_heal_missing import MISSING, WHOLE, only

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow
NEWS = ("lease.at_risk", "lease.safe", "lease.healed", "lease.degraded")


def told(world: World, lease: Lease) -> list[str]:
    return [kind for kind, _ in world.told(lease) if kind in NEWS]


def at_risk(world: World, lease: Lease) -> bool:
    return world.get(lease).at_risk


def test_a_failure_and_a_recovery_are_told_once_each_and_move_nothing(world: World) -> None:
    lease = world.lease(hosts(), start=48, end=50)
    world.fail("cmp-01")
    for _ in range(3):
        check_once(world.service)
    assert (at_risk(world, lease), flags(world, lease), told(world, lease)) == (True, WHOLE, ["lease.at_risk"])
    world.recover("cmp-01")
    for _ in range(3):
        check_once(world.service)
    assert (at_risk(world, lease), told(world, lease)) == (False, ["lease.at_risk", "lease.safe"])
    assert world.holds(lease) == {"cmp-01": 1}


def test_when_the_lease_comes_close_healing_takes_over(world: World) -> None:
    lease = world.lease(hosts(), start=48, end=50)
    world.fail("cmp-01")
    run_until(world, world.hour(47.5))
    check_once(world.service)
    assert (at_risk(world, lease), flags(world, lease)) == (False, WHOLE)
    assert told(world, lease) == ["lease.at_risk", "lease.healed", "lease.safe"]
    assert "cmp-01" not in world.holds(lease)
    audit(world)


def test_a_lease_that_cannot_be_healed_is_not_called_safe(world: World) -> None:
    lease = world.lease(only("cmp-01"), start=48, end=50)
    world.fail("cmp-01")
    run_until(world, world.hour(47.5))
    check_once(world.service)
    assert (at_risk(world, lease), flags(world, lease)) == (False, MISSING)
    assert told(world, lease)[0] == "lease.at_risk"
    assert "lease.degraded" in told(world, lease)
    assert "lease.safe" not in told(world, lease)


def test_an_amendment_off_the_failed_host_ends_the_risk(world: World) -> None:
    lease = world.lease(hosts(), start=48, end=50)
    world.fail("cmp-01")
    world.amend(lease, {"resource_properties": '["==", "$hypervisor_hostname", "cmp-02"]'})
    check_once(world.service)
    assert (at_risk(world, lease), told(world, lease)) == (False, ["lease.at_risk", "lease.safe"])


def test_who_begins_soon_waits_for_nothing_and_a_deleted_lease_is_left_alone(world: World) -> None:
    soon = world.lease(only("cmp-01"), start=0.5, end=1)
    later = world.lease(only("cmp-01"), start=48, end=50)
    world.fail("cmp-01")
    assert (at_risk(world, soon), at_risk(world, later)) == (False, True)
    world.delete(later)
    run_for(world, minutes=1)
    world.recover("cmp-01")
    assert "lease.safe" not in told(world, later)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["fail", "recover"]), st.sampled_from(["cmp-01", "cmp-02"])),
        st.tuples(st.just("wait"), st.integers(1, 90)),
    ),
    max_size=8,
)


@given(STEPS, st.lists(st.tuples(st.sampled_from(["cmp-01", "cmp-02"]), st.integers(1, 4)), min_size=1, max_size=4))
@example([("fail", "cmp-01"), ("wait", 90)], [("cmp-01", 1)])
@settings(max_examples=25)
def test_after_each_check_at_risk_is_what_its_definition_says(
    steps: list[tuple[str, str | int]], leases: list[tuple[str, int]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "leasehold.db"
        shutil.copyfile(planted_database(), path)
        world = open_service(f"sqlite:///{path}", clock=Clock())
        world.enrol("cmp-01", "cmp-02")
        made = [
            world.lease(only(name), start=2 * number + hours, end=2 * number + hours + 0.5)
            for number, (name, hours) in enumerate(sorted(leases, key=lambda each: each[1]))
        ]
        failed: set[str] = set()
        for verb, what in steps:
            if verb == "wait":
                run_for(world, minutes=float(what))
                check_once(world.service)
            else:
                (failed.add if verb == "fail" else failed.discard)(str(what))
                getattr(world, verb)(what)
            soon = world.now() + world.service.settings.manager.healing_interval
            for lease in made:
                broken = not failed.isdisjoint(world.holds(lease))
                assert at_risk(world, lease) == (broken and lease.window.start >= soon)
                news = [kind for kind in told(world, lease) if kind in ("lease.at_risk", "lease.safe")]
                assert all(kind != following for kind, following in pairwise(news))
        world.engine.dispose()
