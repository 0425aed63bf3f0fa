"""The timeline of the documents (feature S3, J3): what healing does at six moments for three reservations of a host."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.features.timeline.model import BarKind, Timeline
from leasehold.features.timeline.rows import Eyes
from leasehold.features.timeline.use import TimelineQuestion, timeline_of
from leasehold.manager.monitor import check_once
from leasehold.model.caller import Caller, Sight
from leasehold.model.resource import HOST
from leasehold.model.windows import Window
from tests.factory import hosts, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from tests.factory import World

RACK = hosts(resource_properties='["==", "$rack", "r1"]')
"""A host of cmp-01 and cmp-02."""


def test_the_six_points_of_the_timeline(world: World) -> None:
    # 1. Three reservations are on cmp-01: one is active, one starts within the healing interval (an hour), one later.
    active, near, far = (world.lease(RACK, start=start, end=start + 0.5) for start in (0, 0.75, 3))
    run_until(world, world.hour(0.1))
    server = world.boot(active)
    places = [{"cmp-01": 1}] * 3

    def now() -> list[dict[str, int]]:
        audit(world)
        return [world.holds(lease) for lease in (active, near, far)]

    assert now() == places

    # 2. cmp-01 fails: the active reservation and the near one get cmp-02, and the server stays where it is.
    world.fail("cmp-01")
    places[:2] = [{"cmp-02": 1}] * 2
    assert now() == places
    assert [world.get(lease).degraded for lease in (active, near, far)] == [True, False, False]

    # 3. The next look finds nothing to do.
    run_until(world, world.hour(0.2))
    before = [world.get(lease) for lease in (active, near, far)]
    check_once(world.service)
    assert [world.get(lease) for lease in (active, near, far)] == before
    assert world.members(active.reservations[0].id) == {"cmp-01", "cmp-02"}

    # 4. The third one comes within the healing interval, and moves.
    run_until(world, world.hour(2.1))
    check_once(world.service)
    places[:] = [{}, {}, {"cmp-02": 1}]
    assert now() == places
    assert not world.get(far).degraded

    # 5. cmp-01 works again: what has a replacement keeps it, and cmp-01 may be leased.
    world.recover("cmp-01")
    assert now() == places
    assert world.holds(world.lease(RACK, start=3, end=4)) == {"cmp-01": 1}

    # 6. From now on there is nothing to do; the end of the first lease removed its server, and nothing else did.
    assert world.heal() == 0
    run_until(world, world.hour(3.1))
    assert world.members(far.reservations[0].id) == {"cmp-02"}
    assert server.id not in world.servers()
    assert findings(world) == []


def test_only_the_replacement_is_drawn_as_one(world: World) -> None:
    lease = world.lease(RACK, start=0, end=2)
    run_until(world, world.hour(0.1))
    world.boot(lease)
    world.fail("cmp-01")
    run_until(world, world.hour(0.2))
    question = TimelineQuestion((HOST,), Window(world.hour(-1), world.hour(3)))
    for asked in (question, replace(question, as_of=world.now())):
        drawn = timeline_of(world.service, Eyes(Caller("root", "demo"), Sight(), everything=True), asked)
        assert isinstance(drawn, Timeline)
        bars = [(drawn.rows[bar.row].name, bar.kind, bar.substitute) for bar in drawn.bars]
        assert bars == [
            ("cmp-01", BarKind.LEASE, False),
            ("cmp-01", BarKind.VACATED, False),
            ("cmp-02", BarKind.LEASE, True),
        ]
