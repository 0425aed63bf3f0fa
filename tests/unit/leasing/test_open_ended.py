"""Feature A14: leases without an end, where the operators have them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.enforcement.base import load_filters
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import (
    InvalidDateError,
    InvalidInputError,
    LimitExceededError,
    NotEnoughError,
    TooFarAheadError,
    TooManyHoursError,
)
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import OPEN_END
from tests.factory import ALT, DEMO, floating_ips, hosts, instances, make_service, run_for
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

MONTH = timedelta(days=30)
FILTERS = ("MaxLeaseDurationFilter", "MaxLookaheadFilter")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=("cmp-01", "cmp-02"), addresses=(200,)) as made:
        opened = with_leases(made)
        yield opened
        opened.engine.dispose()


def with_leases(world: World, **leases: Any) -> World:
    """Return the same service with leases without an end that count as a month, and these settings."""
    return world.with_settings(leases=replace(world.service.settings.leases, **{"open_ended": MONTH, **leases}))


def open_ended(
    world: World, *reservations: dict[str, Any], start: float = 0, caller: Caller = DEMO, **more: Any
) -> Lease:
    """Create a lease without an end; `start` is hours after `START`."""
    asked = {"open_ended": True, **more}
    return create_lease(
        world.service, caller, LeaseDraft("l", world.hour(start), OPEN_END, None, reservations, **asked)
    )


def test_it_goes_on_until_it_gets_an_end(world: World) -> None:
    lease = open_ended(world, hosts(1), instances(1), floating_ips(1))
    assert (lease.open_ended, lease.window.end) == (True, OPEN_END)
    world.clock.advance(days=3650)
    run_for(world, minutes=1)
    server = world.boot(lease)
    assert world.status(lease) == "ACTIVE"
    audit(world)
    audit_cloud(world)
    end = world.now() + timedelta(hours=2)
    assert not world.amend(lease, end=end).open_ended
    run_for(world, hours=3)
    assert (world.status(lease), world.servers()) == ("TERMINATED", set())
    assert server.id not in world.servers()
    audit_cloud(world)


def test_it_goes_on_until_it_is_deleted(world: World) -> None:
    lease = open_ended(world, hosts(2))
    run_for(world, minutes=1)
    world.delete(lease)
    run_for(world, minutes=1)
    assert not world.exists(lease)
    assert open_ended(world, hosts(2), start=1)


def test_nobody_gets_what_it_has_at_any_time(world: World) -> None:
    lease = open_ended(world, hosts(1), start=24)
    with pytest.raises(NotEnoughError) as caught:
        world.lease(hosts(2), start=24 * 3650, end=24 * 3650 + 1, caller=ALT)
    assert (caught.value.refusal.largest, caught.value.refusal.nearest) == (1, None)
    assert world.lease(hosts(2), end=24, caller=ALT)
    with pytest.raises(NotEnoughError):
        open_ended(world, hosts(2), start=48, caller=ALT)
    with pytest.raises(NotEnoughError):
        world.amend(lease, start=0)


def test_a_lease_with_an_end_may_lose_it(world: World) -> None:
    lease = world.active(hosts(1), end=2)
    theirs = world.lease(hosts(1), start=3, end=4, caller=ALT)
    assert world.amend(lease, end=OPEN_END, open_ended=True).open_ended
    generation = world.get(lease).generation
    with pytest.raises(InvalidDateError):
        world.amend(lease, end_by=timedelta(seconds=1))
    assert world.get(lease).generation == generation
    with pytest.raises(NotEnoughError):
        world.amend(theirs, {"min": 2, "max": 2})
    run_for(world, hours=4)
    assert (world.status(lease), world.get(lease).open_ended) == ("ACTIVE", True)


def test_the_last_date_is_not_asked_for_in_another_way(world: World) -> None:
    with pytest.raises(InvalidDateError, match="open_ended"):
        open_ended(world, hosts(1), open_ended=False)
    lease = world.lease(hosts(1), end=1)
    for changes in ({"end": OPEN_END}, {"end_by": OPEN_END - world.hour(1)}):
        with pytest.raises(InvalidDateError, match="open_ended"):
            world.amend(lease, **changes)


def test_without_the_option_there_is_none(world: World) -> None:
    closed = with_leases(world, open_ended=timedelta(0))
    with pytest.raises(InvalidInputError) as caught:
        open_ended(closed, hosts(1))
    assert caught.value.field == "open_ended"
    made = closed.lease(hosts(1), end=1)
    with pytest.raises(InvalidInputError):
        closed.amend(made, end=OPEN_END, open_ended=True)
    # One that was made before goes on, and may be amended.
    lease = open_ended(world, hosts(1))
    assert closed.amend(lease, end=OPEN_END, open_ended=True, name="kept").open_ended
    assert closed.amend(lease, end=5).window.end == world.hour(5)
    closed.engine.dispose()


@pytest.mark.parametrize("kind", [LeaseType.RETRY, LeaseType.WAITLIST, LeaseType.BEST_EFFORT])
def test_it_does_not_wait(world: World, kind: LeaseType) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_ended(world, hosts(1), type=kind)
    assert caught.value.field == "open_ended"


# ---------------------------------------------------------------- limits


def limited(world: World, **leases: Any) -> World:
    made = with_leases(world, **leases)
    return replace(made, service=replace(made.service, enforcement=load_filters(made.service.settings.leases)))


@pytest.mark.parametrize(("days", "fits"), [(30, True), (29, False)])
def test_it_is_as_long_as_the_option_says(world: World, days: int, *, fits: bool) -> None:
    some = limited(world, enforcement_filters=FILTERS, max_duration=timedelta(days=days))
    if not fits:
        with pytest.raises(LimitExceededError, match="2592000 seconds"):
            open_ended(some, hosts(1))
        return
    lease = open_ended(some, hosts(1))
    some.clock.advance(days=100)
    # An end is earlier than none, however long the lease has lasted.
    assert some.amend(lease, end=24 * 200).window.end == some.hour(24 * 200)
    some.engine.dispose()


@pytest.mark.parametrize(("days", "fits"), [(31, True), (29, False)])
def test_it_ends_as_far_ahead_as_the_option_says(world: World, days: int, *, fits: bool) -> None:
    limits = replace(world.service.settings.leases.limits, end_lookahead=timedelta(days=days))
    some = limited(world, enforcement_filters=FILTERS, limits=limits)
    if fits:
        assert open_ended(some, hosts(1), start=12)
    else:
        with pytest.raises(TooFarAheadError):
            open_ended(some, hosts(1), start=12)
    some.engine.dispose()


def test_it_has_as_many_host_hours_as_the_option_says(world: World) -> None:
    limits = replace(world.service.settings.leases.limits, user_host_hours=30 * 24 + 10)
    some = limited(world, limits=limits)
    open_ended(some, hosts(1))
    some.clock.advance(days=100)
    with pytest.raises(TooManyHoursError):
        some.lease(hosts(1), start=2400, end=2411)
    assert some.lease(hosts(1), start=2400, end=2410)
    some.engine.dispose()
