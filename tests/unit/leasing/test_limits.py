"""Limits of a project: open leases, lookahead and size, for new leases and for amended ones."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import update

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.db.project import COUNTED_FOR
from leasehold.db.tables import leases
from leasehold.enforcement.base import FILTERS, UnknownFilterError, load_filters
from leasehold.model.errors import (
    AmendmentDeniedError,
    InvalidInputError,
    LeaseholdError,
    NotEnoughError,
    TooFarAheadError,
    TooManyLeasesError,
    TooMuchAskedError,
    TooMuchHeldError,
)
from leasehold.model.use import Use
from tests.factory import ALT, World, flavors, floating_ips, hosts, instances, run_for, run_manager
from tests.race.test_batches import counted, failing
from tests.refused import bounds, refused
from tests.stateful.audit import audit
from tests.unit.leasing.badges import without


def limited(world: World, duration: timedelta | None = None, **limits: Any) -> World:
    """Return the same service with these limits and every filter on."""
    limit = LimitSettings(**limits)
    return world.with_settings(
        leases=LeaseSettings(max_duration=duration, enforcement_filters=tuple(FILTERS), limits=limit)
    )


# ---------------------------------------------------------------- duration


def test_an_over_long_lease_may_be_shortened_and_changed_but_not_prolonged(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=9)
    world = limited(world, duration=timedelta(hours=4))
    assert world.amend(lease, end=8).window.end == world.hour(8)
    assert world.amend(lease, {"max": 2}).generation > lease.generation
    assert world.amend(lease, start=2, end=9).window.duration == timedelta(hours=7)
    refused(world, InvalidInputError, world.amend, lease, end=9.5)
    refused(world, InvalidInputError, world.amend, lease, start=1)
    assert world.amend(lease, end=5).window.end == world.hour(5)
    refused(world, InvalidInputError, world.amend, lease, end=6.5)


# ---------------------------------------------------------------- open leases


def test_a_project_has_so_many_leases_open_and_no_more(world: World) -> None:
    world = limited(world, open_leases=2)
    world.lease(hosts(), start=0, end=1)
    world.lease(start=5, end=6)
    error = refused(world, TooManyLeasesError, world.lease, start=7, end=8)
    assert (error.code, error.status) == ("leasehold.enforcement.open_leases", 403)
    assert error.details == {"limit": 2, "open": 2}
    assert error.message.startswith("The project has 2 open leases, and it may have 2. Delete one")
    assert world.lease(start=7, end=8, caller=ALT)


@pytest.mark.parametrize(
    ("before", "status"), [("ACTIVE", "TERMINATED"), ("ACTIVE", "DELETING"), ("ACTIVE", "gone"), ("ERROR", "DELETING")]
)
def test_only_what_has_ended_or_is_deleted_is_not_open(world: World, before: str, status: str) -> None:
    world = limited(world, open_leases=1)
    lease = world.active(hosts(), end=1)
    world.execute(update(leases).values(status=before))
    refused(world, TooManyLeasesError, world.lease, start=3, end=4)
    if status == "TERMINATED":
        run_for(world, hours=2)
    else:
        world.delete(lease)
    if status == "gone":
        run_manager(world)
        assert not world.exists(lease)
    else:
        assert world.status(lease) == status
    assert world.lease(start=3, end=4)
    audit(world)


def test_projects_may_have_limits_of_their_own(world: World) -> None:
    world = limited(world, open_leases=0, open_leases_by_project={"demo": 1, "alt": None})
    world.lease(start=1, end=2)
    refused(world, TooManyLeasesError, world.lease, start=1, end=2)
    for _ in range(3):
        world.lease(start=1, end=2, caller=ALT)
    refused(world, TooManyLeasesError, world.lease, start=1, end=2, caller=replace(ALT, project_id="third"))


def test_a_repeated_request_is_answered_at_the_limit_too(world: World) -> None:
    """The lease exists already, so the request opens none."""
    world = limited(world, open_leases=1)
    lease = world.lease(start=1, end=2, key="k")
    assert world.lease(start=1, end=2, key="k").id == lease.id


def test_an_amendment_opens_no_lease(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    world = limited(world, open_leases=0)
    assert world.amend(lease, end=3, name="longer").name == "longer"


# ---------------------------------------------------------------- lookahead


def test_a_lease_starts_and_ends_within_its_horizon(world: World) -> None:
    world = limited(world, start_lookahead=timedelta(hours=2), end_lookahead=timedelta(hours=4))
    assert world.lease(start=2, end=4)
    late = refused(world, TooFarAheadError, world.lease, start=2.5, end=3)
    assert (late.code, late.status, late.field) == ("leasehold.enforcement.lookahead", 403, "start_date")
    assert late.details == {"limit_seconds": 7200, "latest": "2031-05-01T11:00:00Z"}
    assert "Choose a start_date not after 2031-05-01 11:00 UTC." in late.message
    assert refused(world, TooFarAheadError, world.lease, start=1, end=4.5).field == "end_date"
    world.clock.advance(hours=1)
    assert world.lease(start=2.5, end=4.5)


def test_an_amendment_may_not_reach_beyond_the_horizon(world: World) -> None:
    world = limited(world, start_lookahead=timedelta(hours=2), end_lookahead=timedelta(hours=4))
    lease = world.lease(hosts(), start=1, end=2)
    for hours, name in (({"end": 4.5}, "end_date"), ({"start": 2.5, "end": 3}, "start_date")):
        error = refused(world, AmendmentDeniedError, world.amend, lease, **hours)
        assert (error.code, error.status, error.field) == ("leasehold.enforcement.lookahead", 400, name)
    assert world.amend(lease, start=2, end=4)


def test_a_lease_from_before_the_limit_may_be_renamed_shortened_and_moved_nearer(world: World) -> None:
    lease = world.lease(hosts(), start=10, end=20)
    world = limited(world, start_lookahead=timedelta(hours=2), end_lookahead=timedelta(hours=4))
    assert world.amend(lease, name="kept").name == "kept"
    world.amend(lease, end=19)
    world.amend(lease, start=9)
    refused(world, AmendmentDeniedError, world.amend, lease, end=19.5)


# ---------------------------------------------------------------- size


@pytest.mark.parametrize(
    ("limits", "asked", "what"),
    [
        ({"reservations": 2}, (hosts(), hosts(), hosts()), "reservations"),
        ({"amounts": {"physical:host": 3}}, (hosts(1, 2), hosts(1, 2)), "hosts"),
        ({"amounts": {"virtual:instance": 4}}, (instances(5),), "instances"),
        ({"amounts": {"virtual:floatingip": 0}}, (hosts(), floating_ips()), "floating IPs"),
    ],
)
def test_a_lease_holds_no_more_than_a_lease_may(
    world: World, limits: dict[str, Any], asked: tuple[dict[str, Any], ...], what: str
) -> None:
    world = limited(world, **limits)
    error = refused(world, TooMuchAskedError, world.lease, *asked, start=1, end=2)
    assert (error.code, error.status, error.field) == ("leasehold.enforcement.size", 403, "reservations")
    assert error.details["what"] == what
    assert f" {what}, and one lease may have {error.details['limit']}." in error.message
    assert world.lease(hosts(1, 2), start=1, end=2)


def test_a_lease_may_shrink_to_what_is_still_too_much_and_not_grow(world: World) -> None:
    lease = world.lease(hosts(4), start=1, end=2)
    world = limited(world, amounts={"physical:host": 2})
    error = refused(world, AmendmentDeniedError, world.amend, lease, {"max": 5, "min": 1})
    assert (error.code, error.status) == ("leasehold.enforcement.size", 400)
    world.amend(lease, {"max": 3, "min": 3})
    world.amend(lease, end=3)
    refused(world, AmendmentDeniedError, world.amend, lease, {"max": 4, "min": 3})


# ---------------------------------------------------------------- the totals of a project at one moment


@pytest.mark.parametrize(
    ("totals", "first", "second", "what"),
    [
        ({"hosts": 3}, hosts(2), hosts(1, 2), "hosts"),
        ({"vcpus": 8}, instances(3, 2), instances(2, 2), "vcpus"),
        ({"memory_mb": 2048}, instances(3, 1), instances(2, 1), "memory_mb"),
        ({"floating_ips": 3}, floating_ips(2), floating_ips(2), "floating_ips"),
        ({"vcpus": 4}, flavors(3), instances(2, 1), "vcpus"),
    ],
)
def test_a_project_has_so_much_of_everything_at_one_moment_and_no_more(
    world: World, totals: dict[str, int], first: dict[str, Any], second: dict[str, Any], what: str
) -> None:
    world = limited(world, totals=totals)
    held = world.lease(first, start=1, end=2)
    error = refused(world, TooMuchHeldError, world.lease, second, start=1, end=2)
    assert (error.code, error.status) == ("leasehold.enforcement.total", 403)
    assert error.details["what"] == what
    assert f"a project may have {totals[what]}." in error.message
    for start in (0, 2):
        assert world.lease(second, start=start, end=start + 1)
    assert world.lease(second, start=1, end=2, caller=ALT)
    world.delete(held)
    assert world.lease(second, start=1, end=2)


def test_an_amendment_may_not_exceed_the_totals(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=2)
    world.lease(hosts(2), start=2, end=3)
    world = limited(world, totals={"hosts": 2})
    refused(world, AmendmentDeniedError, world.amend, lease, end=3)
    refused(world, AmendmentDeniedError, world.amend, lease, {"min": 3, "max": 3})
    assert world.amend(lease, {"min": 2, "max": 2})
    assert world.amend(lease, start=0, end=2)


def test_what_is_over_a_total_that_came_later_may_be_shortened(world: World) -> None:
    lease = world.lease(hosts(4), start=1, end=3)
    world = limited(world, totals={"hosts": 2})
    assert world.amend(lease, end=2, name="shorter").name == "shorter"
    refused(world, AmendmentDeniedError, world.amend, lease, end=3)


def test_what_was_counted_for_a_refusal_is_kept(world: World) -> None:
    lease = world.lease(hosts(2), start=10, end=11)
    world.clock.advance(seconds=COUNTED_FOR.total_seconds())
    for work in (
        partial(world.lease, hosts(99), start=20, end=21),
        partial(world.amend, lease, {"min": 99, "max": 99}),
    ):
        with counted(world) as first:
            refused(world, NotEnoughError, work)
        with counted(world) as second:
            refused(world, NotEnoughError, work)
        assert len(first) > len(second)
        assert bounds(world) == Use(leases=1, hosts=2)
        world.clock.advance(seconds=COUNTED_FOR.total_seconds())


def test_a_refusal_stands_whatever_became_of_its_count(world: World) -> None:
    with failing(world, "commit", lambda sent: "leasehold_writes" in sent[0].get_execution_options()):
        world.lease(hosts(2), start=10, end=11)
        world.clock.advance(seconds=COUNTED_FOR.total_seconds())
        refused(world, NotEnoughError, world.lease, hosts(99), start=20, end=21)


def test_what_was_given_back_counts_again_at_the_limit(world: World) -> None:
    """The stored upper bounds only grow, so at a limit everything is counted again."""
    world = limited(world, open_leases=3, totals={"hosts": 4})
    for _ in range(10):
        world.delete(world.lease(hosts(2), start=1, end=2))
    made = [world.lease(hosts(2), start=1, end=2) for _ in range(2)]
    refused(world, TooMuchHeldError, world.lease, hosts(1), start=1, end=2)
    world.delete(made[0])
    assert world.lease(hosts(2), start=1, end=2)


# ---------------------------------------------------------------- which limits apply


def test_the_limits_of_a_project_hold_without_being_configured(world: World) -> None:
    limits = load_filters(LeaseSettings())
    assert {type(rule).__name__ for rule in limits.filters} == {
        "MaxLeaseSizeFilter",
        "ProjectLimitsFilter",
        "StackingFilter",
    }
    refused(world, TooMuchAskedError, world.lease, *[hosts()] * 21, start=1, end=2)
    refused(world, TooMuchHeldError, world.lease, hosts(1, 1001), start=1, end=2)
    assert world.lease(*[instances(1, 1)] * 20, start=1, end=2)


def test_an_exempt_project_knows_no_limit(world: World) -> None:
    limits: dict[str, Any] = {"open_leases": 0, "end_lookahead": timedelta(0), "reservations": 0}
    world = limited(world, exempt_projects=frozenset({"alt"}), **limits)
    refused(world, LeaseholdError, world.lease, hosts(), start=1, end=2)
    lease = world.lease(hosts(), start=1, end=2, caller=ALT)
    assert world.amend(lease, end=3)


def test_no_duration_and_no_horizon_is_limited_by_default(world: World) -> None:
    world = limited(world)
    for number in range(5):
        world.lease(hosts(), start=1 + 10_000 * number, end=2 + 10_000 * number)


def test_a_limit_whose_filter_is_off_is_told(caplog: pytest.LogCaptureFixture) -> None:
    limits = LimitSettings(open_leases=3, reservations=2, end_lookahead=timedelta(days=1))
    with caplog.at_level(logging.WARNING):
        load_filters(LeaseSettings(enforcement_filters=("MaxLeaseSizeFilter",), limits=limits))
    assert caplog.messages == [
        "The limits of MaxLookaheadFilter have no effect: add it to [enforcement] enabled_filters."
    ]


def test_an_unknown_filter_names_those_that_exist() -> None:
    with pytest.raises(UnknownFilterError, match="MaxLeaseSizeFilter, MaxLookaheadFilter, ProjectLimitsFilter"):
        load_filters(LeaseSettings(enforcement_filters=("MaxOpenLeases",)))


def test_leases_of_a_type_that_is_switched_off_count_for_the_totals(world: World) -> None:
    world = limited(world, totals={"hosts": 3})
    world.lease(hosts(2), start=0, end=2)
    grows = world.lease(hosts(1), start=0, end=2)
    off = without(world, "physical:host")
    refused(off, AmendmentDeniedError, off.amend, grows, {"min": 2, "max": 2})
