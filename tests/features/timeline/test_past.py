"""The timeline as of a moment is the picture that was seen then, after whatever has happened since (decision 0095)."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.timeline.model import Timeline
from leasehold.features.timeline.rows import Eyes
from leasehold.features.timeline.use import TimelineQuestion, timeline_of
from leasehold.model.caller import Sight
from leasehold.model.errors import LeaseholdError
from leasehold.model.resource import HOST
from leasehold.model.windows import Window, to_seconds
from tests.factory import OPERATOR, START, hosts, instances, make_service, run_manager

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

NAMES = ("cmp-01", "cmp-02", "cmp-05", "cmp-06")
EYES = Eyes(OPERATOR, Sight(), everything=True)
HOURS = 24
Picture = tuple[Any, Any, Any]


def look(world: World, as_of: datetime | None = None) -> Timeline:
    window = Window(world.hour(-1), world.hour(HOURS))
    found = timeline_of(world.service, EYES, TimelineQuestion((HOST,), window, as_of=as_of))
    assert isinstance(found, Timeline)
    return found


def picture(found: Timeline, moment: datetime) -> Picture:
    """Return what had begun at a moment, the leases of that, and those that had not begun."""
    now = to_seconds(moment)
    begun = {bar.lease for bar in found.bars if bar.start <= now}
    bars = [
        (found.rows[bar.row].name, *bar[1:4], found.leases[bar.lease or 0].id, *bar[5:])
        for bar in found.bars
        if bar.lease in begun and bar.start <= now
    ]
    leases = [each._replace(movable=None) for each in found.leases]
    ahead = [lease for place, lease in enumerate(leases) if place not in begun]
    return sorted(bars, key=repr), sorted(leases[place or 0] for place in begun), sorted(ahead)


def do_something(world: World, dice: Random, leases: list[Lease]) -> None:
    """Create, amend, delete or break something, and let the manager work; what is refused changes nothing."""
    what = dice.choice(["create", "create", "create", "extend", "shorten", "delete", "fail", "recover", "rename"])
    try:
        if what == "create":
            start = dice.choice([0.0, 0.0, 1.0, 5.0]) + (world.now() - START).total_seconds() / 3600
            part = dice.choice([hosts(1), hosts(1, 2), instances(dice.randrange(1, 3), 2)])
            leases.append(world.lease(part, start=start, end=start + dice.randrange(1, 6)))
        elif what in ("fail", "recover"):
            (world.fail if what == "fail" else world.recover)(dice.choice(NAMES))
            world.heal()
        elif leases:
            change(world, dice, what, dice.choice(leases))
    except LeaseholdError:
        return


def change(world: World, dice: Random, what: str, lease: Lease) -> None:
    present = world.get(lease)
    if what == "delete":
        world.delete(present)
    elif what == "rename":
        world.amend(present, name=f"name {dice.random()}")
    else:
        by = 1 if what == "extend" else -1
        world.amend(present, end=present.window.end + by * (world.hour(1) - START))


@pytest.mark.parametrize("seed", range(4))
def test_what_was_seen_is_seen_again(seed: int, database_url: str) -> None:
    dice = Random(seed)  # noqa: S311 - not for secrets
    with make_service(database_url, hosts=NAMES) as world:
        leases: list[Lease] = []
        seen: dict[datetime, Timeline] = {}
        for _ in range(25):
            do_something(world, dice, leases)
            run_manager(world)
            seen[world.now()] = look(world)
            world.clock.advance(minutes=dice.choice([1, 20, 45]))
        assert sum(len(each.bars) for each in seen.values()) > 50
        for moment, then in seen.items():
            again = look(world, moment)
            bars, begun, ahead = picture(then, moment)
            assert picture(again, moment)[:2] == (bars, begun), moment
            told = {again.leases[place] for place, _ in again.unplaced}
            assert told >= {each for each in ahead if each.status == "PENDING"}, moment
            assert {each.id for each in told} <= {each.id for each in ahead}, moment
            assert {row.name for row in again.rows} == set(NAMES)
            assert not [row for row in again.rows if row.state is not None]
