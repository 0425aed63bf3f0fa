"""The cost of each use case on one database: statements, commits, parameters and rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.lease_texts import LeaseTexts
from leasehold.db.task import claim_tasks
from leasehold.features.audit.database import audit_database
from leasehold.features.feed import use as feeds
from leasehold.features.timeline.model import Timeline
from leasehold.features.timeline.rows import Eyes
from leasehold.features.timeline.use import TimelineQuestion, timeline_of
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.delete import delete_seen, wait_until_gone
from leasehold.leasing.reading import queries
from leasehold.leasing.reading.holding import list_holdings
from leasehold.leasing.steps import lifecycle, outcome
from leasehold.manager import monitor
from leasehold.manager.task_runner import run_task
from leasehold.model.caller import Caller, Sight
from leasehold.model.draft import LeaseChanges
from leasehold.model.errors import NotEnoughError
from leasehold.model.resource import HOST
from leasehold.model.windows import Window
from tests.at_once import all_behind, together
from tests.counts.meter import Meter
from tests.factory import claim_one, flavors, floating_ips, hosts, instances, make_service, run_manager
from tests.stateful.shown import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.db.task import Claim
    from leasehold.model.lease import Lease
    from tests.factory import World

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")
ADDRESSES = range(200, 205)
LISTED = 20
"""Leases in the counted list: enough that one statement per lease would show."""
ALL_FOUR = (hosts(1), instances(2), flavors(1), floating_ips(1))


def count_costs(url: str) -> dict[str, dict[str, int]]:
    """Return the costs of every use case on an empty database."""
    with make_service(url, hosts=HOSTS, addresses=ADDRESSES) as world:
        meter = Meter(world.engine)
        # Load both calendars first, because a create or amend normally finds them loaded.
        world.delete(world.lease(hosts(1), floating_ips(1), start=900, end=901))
        run_manager(world)
        one = {**_people(world, meter), **_work(world, meter), **_operators(world, meter)}
        return {**one, **_batches(world, meter), **_starts(world, meter)}


def _people(world: World, meter: Meter) -> dict[str, dict[str, int]]:
    """Count the requests of users."""
    counts, made = {}, _Kept()
    # What a manager released is read once, as what another process decided is.
    counts["create, after others"] = meter.of(lambda: world.lease(hosts(1), start=8, end=9))
    counts["create, 1 reservation"] = meter.of(made.by(lambda: world.lease(hosts(1), start=10, end=11)))
    one = made.lease
    counts["create, 4 reservations of 4 types"] = meter.of(made.by(lambda: world.lease(*ALL_FOUR, start=20, end=21)))
    four = made.lease
    counts["create, with a key"] = meter.of(lambda: world.lease(hosts(1), start=30, end=31, key="k"))
    counts["create, the key again"] = meter.of(lambda: world.lease(hosts(1), start=30, end=31, key="k"))
    counts["create, refused"] = meter.of(lambda: _refused(world))
    counts["amend, longer"] = meter.of(lambda: world.amend(one, end=12))
    counts["amend, longer, 4 reservations"] = meter.of(lambda: world.amend(four, end=22))
    more = ({"id": one.reservations[0].id, "min": 2, "max": 2},)
    counts["amend, one more host"] = meter.of(lambda: world.amend(one, reservations=more))
    counts["get, 1 reservation"] = meter.of(lambda: world.get(one))
    counts["get, 4 reservations"] = meter.of(lambda: world.get(four))
    counts["get, with the resources of 4 reservations"] = meter.of(lambda: _held(world, four))
    for number in range(LISTED):
        world.lease(hosts(1), start=100 + number, end=101 + number)
    counts[f"list, over {LISTED} leases"] = meter.of(lambda: list(queries.each_lease(world.service, None)))
    shown = LeaseTexts()
    counts[f"show, over {LISTED} leases"] = meter.of(lambda: listed(world, shown))
    world.amend(one, name="another")
    counts[f"show, over {LISTED} leases, one of which has changed"] = meter.of(lambda: listed(world, shown))
    counts[f"show, over {LISTED} leases, again"] = meter.of(lambda: listed(world, shown))
    feed, _ = feeds.make_feed(world.service, Caller("alice", "demo"), "", own=False)
    counts[f"feed, 5 of over {LISTED} leases"] = meter.of(lambda: feeds.leases_of(world.service, feed, most=5))
    counts["list, hosts"] = meter.of(lambda: queries.list_resources(world.service, "physical:host"))
    counts["list, allocations of hosts"] = meter.of(
        lambda: list(queries.each_allocation(world.service, "physical:host"))
    )
    counts |= _timelines(world, meter)
    counts["delete, pending"] = meter.of(lambda: world.delete(one))
    counts["delete, pending, 4 reservations"] = meter.of(lambda: world.delete(four))
    counts["delete, look whether it is gone"] = meter.of(lambda: wait_until_gone(world.service, one.id, 0))
    run_manager(world)
    return counts


def _batches(world: World, meter: Meter) -> dict[str, dict[str, int]]:
    """Count requests that are decided together, and the one before them."""
    counts = {}
    # The project of the first has a row of what it uses then.
    together(world, partial(_ask, 299))
    sizes = {1: 300, 8: 310, 64: 400}
    for number, begin in sizes.items():
        works = [partial(_ask, begin + each) for each in range(number)]
        counts[f"create, then {number} at once"] = meter.of(partial(together, world, *works, hour=begin + 600))
    for number, begin in sizes.items():
        made = [world.lease(hosts(1), start=begin + each, end=begin + each + 0.5) for each in range(number)]
        for what, change, hour in (("amendments", _amend, 700), ("deletions", _delete, 800)):
            changes = [partial(change, world.get(each)) for each in made]
            cost = meter.of(partial(together, world, *changes, hour=begin + hour))
            counts[f"create, then {number} {what} at once"] = cost
    return counts


def _starts(world: World, meter: Meter) -> dict[str, dict[str, int]]:
    """Count starts that are begun together and completed after the first of them; without the calls to the cloud."""
    counts = {}
    world.enrol("cmp-09")  # It has room for all.
    for hour, number in ((2000, 1), (2010, 8), (2020, 64)):
        for _ in range(number + 1):
            world.lease(instances(1), start=hour, end=hour + 1, before_end=None)
        run_manager_until(world, hour)
        claims: list[Claim] = []
        world.service.db.transact(lambda c: claims.extend(claim_tasks(c, "we", world.now(), timedelta(hours=1), 100)))  # noqa: B023
        assert len(claims) == number + 1
        steps: dict[Claim, lifecycle.Step] = {}
        cost = meter.of(lambda: steps.update(lifecycle.begin_all(world.service, claims)))  # noqa: B023
        completes = [partial(_complete, claim, steps[claim]) for claim in claims]
        more = meter.of(lambda: all_behind(world, *completes))  # noqa: B023
        counts[f"start, then {number} at once"] = {what: cost[what] + more[what] for what in cost}
        run_manager_until(world, hour + 2)
    return counts


def _complete(claim: Claim, step: lifecycle.Step, world: World) -> None:
    done = [lifecycle.Outcome(job.name, lifecycle.Result.DONE) for job in step.jobs]
    assert outcome.complete(world.service, claim, step, done)


def _ask(hour: int, world: World) -> Lease:
    return world.lease(hosts(1), start=hour, end=hour + 1)


def _amend(lease: Lease, world: World) -> None:
    changes = LeaseChanges(end=lease.window.end + timedelta(minutes=15))
    amend_lease(world.service, lease.id, changes, seen=lease)


def _delete(lease: Lease, world: World) -> None:
    delete_seen(world.service, lease)


def _timelines(world: World, meter: Meter) -> dict[str, dict[str, int]]:
    """Count questions for the timeline: of a window that lies ahead, and of one with a past."""
    member = Eyes(Caller("alice", "demo"), Sight(hosts=False, private=False, disabled=False), everything=False)
    operator = Eyes(Caller("root", "demo"), Sight(), everything=True)
    ahead, past = (TimelineQuestion((HOST,), Window(world.hour(start), world.hour(200))) for start in (1, -1))
    counts = {}
    for who, eyes in (("a member", member), ("an operator", operator)):
        ask = partial(timeline_of, world.service, eyes)
        found = ask(ahead)
        assert isinstance(found, Timeline)
        counts[f"timeline ahead, {who}"] = meter.of(partial(ask, ahead))
        counts[f"timeline with a past, {who}"] = meter.of(partial(ask, past))
        counts[f"timeline, unchanged, {who}"] = meter.of(partial(ask, replace(ahead, known=found.tag)))
    return counts


def _held(world: World, lease: Lease) -> None:
    """Do what a member's question for the resources of a lease does."""
    list_holdings(world.service, world.get(lease), Sight(hosts=False, private=False))


def _refused(world: World) -> None:
    with pytest.raises(NotEnoughError):
        world.lease(hosts(len(HOSTS) + 1), start=40, end=41)


def _work(world: World, meter: Meter) -> dict[str, dict[str, int]]:
    """Count the manager's tasks in the life of a lease, with one reservation and with four."""
    counts: dict[str, dict[str, int]] = {}
    for what, parts, begin in (("1 reservation", (hosts(1),), 200), ("4 reservations", ALL_FOUR, 210)):
        lease = world.lease(*parts, start=begin, end=begin + 2, before_end=None)
        steps = {"prepare": None, "start": begin, "end": begin + 2}
        for step, hour in steps.items():
            if hour is not None:
                run_manager_until(world, hour)
            counts |= _claimed(world, meter, f"{step}, {what}")
        assert world.get(lease).status == "TERMINATED"
    lease = world.lease(hosts(1), start=220, end=222)
    run_manager(world)
    world.clock.set(world.hour(220))
    run_manager(world)
    counts["delete, active"] = meter.of(lambda: world.delete(lease))
    counts |= _claimed(world, meter, "remove, 1 reservation")
    assert not world.exists(lease)
    counts["claim, nothing due"] = meter.of(lambda: _claim(world, 8))
    return counts


def run_manager_until(world: World, hour: float) -> None:
    """Run all tasks due before the hour, then set the clock to the hour without running the tasks due then."""
    world.clock.set(world.hour(hour) - timedelta(seconds=1))
    run_manager(world)
    world.clock.set(world.hour(hour))


def _claimed(world: World, meter: Meter, name: str) -> dict[str, dict[str, int]]:
    """Count the claim and the run of the next task, then run the remaining due tasks uncounted."""
    claims: list[Claim | None] = []
    claim_cost = meter.of(lambda: claims.append(claim_one(world)))
    [claim] = claims
    assert claim is not None, f"{name}: nothing is due"
    cost = meter.of(lambda: run_task(world.service, claim))
    run_manager(world)
    return {"claim, one task due": claim_cost, name: cost}


def _claim(world: World, most: int) -> None:
    lasts = timedelta(seconds=60)
    world.service.db.transact(lambda connection: claim_tasks(connection, "somebody", world.now(), lasts, most))


def _operators(world: World, meter: Meter) -> dict[str, dict[str, int]]:
    """Count the health checks, the audit and a swap."""
    counts = {"health, all well": meter.of(lambda: monitor.check_once(world.service))}
    made = world.lease(hosts(1), start=230, end=232)
    world.clock.set(world.hour(229.5))
    run_manager(world)
    [name] = world.holds(made)
    world.cloud.hypervisors.fail(name)
    counts["health, one host failed, one lease moved"] = meter.of(lambda: monitor.check_once(world.service))
    assert name not in world.holds(made)
    counts["audit"] = meter.of(lambda: _audit(world))
    world.clock.set(world.hour(240))
    used = world.active(hosts(1), start=240, end=242)
    server = world.boot(used)
    counts["swap, a host with a server"] = meter.of(lambda: world.swap(used, server.id))
    return counts


def _audit(world: World) -> None:
    with world.service.db.reading() as connection:
        assert not audit_database(connection, world.now())


class _Kept:
    """Stores the lease that the counted work returned."""

    lease: Lease

    def by(self, work: Callable[[], Lease]) -> Callable[[], Any]:
        def keep() -> None:
            self.lease = work()

        return keep
