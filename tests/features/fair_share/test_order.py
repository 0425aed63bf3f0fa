"""Idea 9: the orders by fair share and by size decide who is granted, and cost a statement only where leases wait."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.errors import ConfigurationError
from leasehold.features.fair_share.job import jobs
from leasehold.features.fair_share.options import FairShareSettings
from leasehold.features.fair_share.order import Borrow, FairShare
from leasehold.features.fair_share.use import SETTLED, count_use
from leasehold.features.registry import load
from leasehold.leasing.deciding.waiting_order import FewestLeases, LongestWaiting, load_order
from leasehold.model.caller import Caller
from leasehold.resource_types.registry import PluginError
from tests.counts.meter import Meter
from tests.factory import ALT, DEMO, hosts, run_for
from tests.stateful.audit import audit
from tests.unit.leasing.test_waiting import ALL, waitlist

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.leasing.deciding.waiting_order import ReadingOrder, WaitingOrder
    from tests.factory import World

CAROL = Caller("carol", "demo")
EACH: list[WaitingOrder | ReadingOrder] = [LongestWaiting(), FewestLeases(), FairShare(), Borrow()]


def ordered(world: World, order: WaitingOrder | ReadingOrder, **fair: Any) -> World:
    """Return the service with an order and these settings of fair share."""
    settings = world.service.settings.having(FairShareSettings(**fair))
    return replace(world, service=replace(world.service, waiting_order=order, settings=settings))


def used(world: World, *held: tuple[Caller, int]) -> None:
    """Let callers hold so many hosts for an hour, and count that."""
    for caller, many in held:
        world.lease(hosts(many), start=0, end=1, caller=caller)
    run_for(world, hours=1, minutes=1, seconds=SETTLED)
    count_use(world.service)


def granted(world: World, *callers: Caller, amounts: tuple[int, ...] = (5, 5, 5, 5)) -> list[str]:
    """Return in which order these get all hosts, who all ask while one has them; each waits an hour for the next."""
    begin = (world.now() - world.hour(0)) / timedelta(hours=1)
    first = world.lease(ALL, start=begin, end=begin + 1, caller=Caller("root", "other"))
    leases = [
        waitlist(world, hosts(many), start=begin, end=begin + 1, until=100, caller=caller)
        for caller, many in zip(callers, amounts, strict=False)
    ]
    world.delete(first)
    run_for(world, hours=len(callers) + 1)
    assert not any(world.get(each).waits for each in leases)
    audit(world)
    started = sorted(zip((world.get(each).window.start for each in leases), callers, strict=False), key=lambda x: x[0])
    return [caller.user_id for _, caller in started]


def test_they_are_found_by_their_names() -> None:
    assert isinstance(load_order("fair_share"), FairShare)
    assert isinstance(load_order("borrow"), Borrow)


@pytest.mark.slow
def test_the_project_that_has_held_less_comes_first_and_in_it_the_user(world: World) -> None:
    own = ordered(world, FairShare())
    used(own, (ALT, 1), (DEMO, 2), (CAROL, 1))
    assert granted(own, DEMO, CAROL, ALT) == ["bob", "carol", "alice"]


@pytest.mark.slow
def test_shares_and_weights_count(world: World) -> None:
    own = ordered(world, FairShare(), shares={"demo": 10.0, "demo/alice": 5.0})
    used(own, (ALT, 1), (DEMO, 2), (CAROL, 1))
    assert granted(own, ALT, CAROL, DEMO) == ["alice", "carol", "bob"]


@pytest.mark.slow
def test_without_any_use_who_has_waited_longest_comes_first(world: World) -> None:
    assert granted(ordered(world, FairShare()), CAROL, ALT, DEMO) == ["carol", "bob", "alice"]


@pytest.mark.slow
def test_of_projects_with_as_many_leases_the_smallest_lease_comes_first(world: World) -> None:
    own = ordered(world, Borrow())
    assert granted(own, DEMO, ALT, CAROL, amounts=(5, 3, 4)) == ["bob", "carol", "alice"]


@pytest.mark.slow
def test_a_new_lease_that_comes_first_is_granted_at_once_and_takes_nothing_away(world: World) -> None:
    """One that is not stored yet has its place too; what is granted stays, whoever comes first."""
    own = ordered(world, FairShare())
    used(own, (DEMO, 3))
    keeps = own.lease(hosts(3), start=1.1, end=9)
    waits = waitlist(own, hosts(4), start=1.1, end=2, caller=DEMO)
    assert waits.waits
    assert waitlist(own, hosts(2), start=1.1, end=2, caller=ALT).status == "PENDING"
    run_for(own, hours=1)
    assert (own.status(keeps), len(own.holds(keeps))) == ("ACTIVE", 3)
    small = ordered(world, Borrow())
    assert waitlist(small, hosts(1), start=2.2, end=3, caller=DEMO).status == "PENDING", "nothing is ahead that fits"


@pytest.mark.slow
@pytest.mark.parametrize("order", EACH, ids=lambda each: type(each).__name__)
def test_an_order_costs_a_statement_only_where_leases_wait(world: World, order: WaitingOrder | ReadingOrder) -> None:
    def costs(own: World) -> list[int]:
        meter, at = Meter(own.engine), (own.now() - own.hour(0)) / timedelta(hours=1)
        asks = [
            partial(own.lease, hosts(1), start=at, end=at + 1),
            partial(waitlist, own, hosts(1), start=at, end=at + 1, until=99),
            partial(waitlist, own, hosts(5), start=at, end=at + 1, until=at + 1),
            partial(waitlist, own, hosts(5), start=at, end=at + 1, until=at + 1, caller=ALT),
        ]
        found = [meter.of(each)["statements"] for each in asks]
        run_for(own, hours=5)
        return found

    # The first round loads the calendars.
    orders: list[WaitingOrder | ReadingOrder] = [LongestWaiting(), LongestWaiting(), order]
    _, usual, mine = (costs(ordered(world, each)) for each in orders)
    # The last one alone finds another that waits, before it locks its pools; it is refused, so it asks no more.
    reads = isinstance(order, FairShare | Borrow)
    assert [b - a for a, b in zip(usual, mine, strict=True)] == [0, 0, 0, int(reads)]


def test_use_is_counted_by_a_manager_with_this_order_alone(world: World) -> None:
    assert [jobs(ordered(world, order).service) for order in EACH if not isinstance(order, FairShare)] == [[], [], []]
    (job,) = jobs(ordered(world, FairShare(), refresh=timedelta(seconds=90)).service)
    assert (job.every, job.turn is not None) == (90, True)
    with pytest.raises(PluginError, match="weight_by_type names 'physical:hosts'"):
        jobs(ordered(world, Borrow(), weights={"physical:hosts": 2.0}).service)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("shares = demo", r"\[fair_share\] shares has 'demo': write PROJECT=SHARE"),
        ("shares = demo=-1", "numbers are from 0 to 1000000000"),
        ("shares = demo=nan", "numbers are from 0"),
        ("shares = demo=99999999999", "numbers are from 0"),
        ("shares = a=1, a=2", "shares names a twice"),
        ("weight_by_type = physical:host", "weight_by_type has 'physical:host': write TYPE=WEIGHT"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_write(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "leasehold.conf"
    path.write_text(f"[fair_share]\n{line}\n")
    with pytest.raises(ConfigurationError, match=said):
        load(["--config-file", str(path)])


def test_options_are_read(tmp_path: Path) -> None:
    path = tmp_path / "leasehold.conf"
    path.write_text(
        "[fair_share]\nhalf_life_seconds = 7200\nshares = demo=3, demo/alice=0.5\n"
        "weight_by_type = virtual:floatingip=0\n"
    )
    found = load(["--config-file", str(path)]).settings.of(FairShareSettings)
    assert (found.half_life, found.share("demo"), found.share("demo", "alice")) == (timedelta(hours=2), 3.0, 0.5)
    assert (found.share("alt"), found.weight("virtual:floatingip"), found.weight("physical:host")) == (1.0, 0.0, 1.0)
