"""Features A10, A11, A12, D1: amending a lease as a whole or not at all, also while it is active."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.errors import (
    ConflictError,
    InUseError,
    InvalidInputError,
    MissingParameterError,
    NotEnoughError,
    NotFoundError,
    OutOfWindowError,
    StaleError,
)
from leasehold.model.states import EventType
from leasehold.model.windows import Window
from tests.factory import DEMO, during_a_step, flavors, floating_ips, hosts, instances, run_manager, run_until
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.factory import World


OTHER_RACK = {"resource_properties": '["==", "$rack", "r2"]'}
"""A change to properties that the first hosts lack."""


def change(lease: Any, position: int = 0, **changes: Any) -> dict[str, Any]:
    """Return the `reservations` of an amendment that changes only the reservation at this position."""
    return {"reservations": ({"id": lease.reservations[position].id, **changes},)}


def refused(world: World, error: type[Exception], work: Callable[[], Any]) -> Any:
    """Check that `work` is refused with this error and changes no row, and return the error."""
    before = dump(world.engine)
    with pytest.raises(error) as caught:
        work()
    assert dump(world.engine) == before
    return caught.value


def warning(world: World, lease: Any) -> tuple[Any, Any]:
    event = world.event(lease, EventType.BEFORE_END)
    return event.time, event.status


# ---------------------------------------------------------------- feature A10: all or nothing


@pytest.mark.slow
def test_a_refused_amendment_leaves_no_trace(world: World) -> None:
    lease = world.lease(hosts(), instances(2), start=1, end=3)
    world.lease(hosts(4), start=3, end=5)
    run_manager(world)
    for changes, error in (
        ({"end": 4}, NotEnoughError),
        ({"end": 0.5}, InvalidInputError),
        ({"start": -1}, InvalidInputError),
        ({"before_end": 3}, OutOfWindowError),
        ({"before_end": 1}, OutOfWindowError),
        (change(lease, min=6, max=6), NotEnoughError),
        (change(lease, max=0), InvalidInputError),
        (change(lease, 1, amount=2000), NotEnoughError),
        (change(lease, 1, resource_properties='["==", "$nothing", "1"]'), InvalidInputError),
        (change(lease, resource_type="virtual:instance"), ConflictError),
        ({"reservations": ({"min": 1},)}, MissingParameterError),
        ({"name": "x", **change(lease, min=6, max=6)}, NotEnoughError),
    ):
        refused(world, error, lambda changes=changes: world.amend(lease, **changes))  # type: ignore[misc]
    unknown = refused(world, InvalidInputError, lambda: world.amend(lease, reservations=({"id": "unknown"},)))
    assert unknown.field == "reservations[0].id"


def test_one_reservation_that_does_not_fit_changes_none(world: World) -> None:
    lease = world.lease(hosts(), floating_ips(), start=1, end=3)
    both = (
        {"id": lease.reservations[0].id, "min": 3, "max": 3},
        {"id": lease.reservations[1].id, "amount": 6},
    )
    refused(world, NotEnoughError, lambda: world.amend(lease, reservations=both))


def test_an_empty_amendment_changes_nothing(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    before = dump(world.engine)
    world.amend(lease)
    assert dump(world.engine) == before


def test_an_amendment_of_what_somebody_else_changed_is_stale(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    seen = world.get(lease).generation
    world.amend(lease, name="other")
    with pytest.raises(StaleError):
        amend_lease(world.service, lease.id, LeaseChanges(name="mine"), seen)


def test_what_changed_since_the_lease_was_read_is_kept(world: World) -> None:
    seen = world.get(world.lease(hosts(), start=1, end=3))
    world.amend(seen, name="other")
    amended = amend_lease(world.service, seen.id, LeaseChanges(end=world.hour(4)), seen=seen)
    assert (amended.name, amended.window.end) == ("other", world.hour(4))
    assert world.get(seen).generation == amended.generation == seen.generation + 2
    with pytest.raises(StaleError):
        amend_lease(world.service, seen.id, LeaseChanges(name="mine"), seen.generation, seen=seen)


def test_an_unknown_lease_cannot_be_amended(world: World) -> None:
    with pytest.raises(NotFoundError):
        amend_lease(world.service, "unknown", LeaseChanges(name="x"))


def test_a_moved_lease_keeps_its_hosts_where_they_are_free(world: World) -> None:
    lease = world.lease(hosts(2), start=1, end=3)
    held = world.holds(lease)
    world.amend(lease, start=4, end=6)
    assert world.holds(lease) == held
    assert world.lease(hosts(5), start=1, end=4)


def test_a_pending_lease_changes_hosts_where_its_own_are_taken(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    world.lease(hosts(), start=3, end=4)
    assert world.holds(lease) == {"cmp-01": 1}
    world.amend(lease, end=4)
    assert world.holds(lease) == {"cmp-02": 1}
    run_until(world, world.hour(1))
    assert world.members(lease.reservations[0].id) == {"cmp-02"}


def test_a_longer_lease_does_not_grow(world: World) -> None:
    world.lease(hosts(4), start=1, end=3)
    lease = world.lease(hosts(1, 3), start=2, end=4)
    assert len(world.holds(lease)) == 1
    world.amend(lease, start=3.5, end=6)
    assert len(world.holds(lease)) == 1


@pytest.mark.parametrize(
    ("start", "started", "later", "changes"),
    [
        pytest.param(0, True, {"seconds": 20}, {"start": 1}, id="another start of what began in this minute"),
        pytest.param(0, False, {"minutes": 1}, {"start": 1}, id="another start of what was due a minute ago"),
        pytest.param(0, False, {"seconds": 20}, {"start": -1}, id="a start in the past for what is due in this minute"),
        pytest.param(1, False, {"minutes": 2}, {"start": 0}, id="a start two minutes ago"),
        pytest.param(1, False, {"minutes": 2}, {"start": 0, "end": 0}, id="a start and an end two minutes ago"),
        pytest.param(0, True, {"hours": 1, "minutes": 2}, {"end": 1}, id="an end two minutes ago"),
    ],
)
def test_a_date_that_has_passed_stays_and_a_new_one_is_not_in_the_past(
    world: World, start: float, later: dict[str, float], changes: dict[str, float], *, started: bool
) -> None:
    lease = world.lease(hosts(), start=start, end=3)
    if started:
        run_manager(world)
    world.clock.advance(**later)
    refused(world, InvalidInputError, lambda: world.amend(lease, **changes))


def test_a_lease_moved_away_in_its_first_minute_does_not_keep_the_time_before(world: World) -> None:
    lease = world.lease(hosts(5), end=3)
    world.clock.advance(seconds=20)
    world.amend(lease, start=2)
    assert world.lease(hosts(5), start=0, end=2)


# ---------------------------------------------------------------- feature A11: an active lease


@pytest.mark.parametrize(
    ("asked", "grown", "refusals"),
    [
        (hosts(2), {"min": 3, "max": 3}, [({"min": 1, "max": 1}, InUseError), (OTHER_RACK, InUseError)]),
        (instances(2), {"amount": 10}, [({"amount": 1}, InvalidInputError), ({"vcpus": 2}, InvalidInputError)]),
        (instances(2, 2, affinity=True), {"amount": 4}, [({"amount": 5}, NotEnoughError)]),
        (flavors(2), {"amount": 10}, [({"amount": 1}, InvalidInputError), ({"flavor_id": "large"}, InvalidInputError)]),
        (floating_ips(2), {"amount": 3}, [({"amount": 1}, InvalidInputError)]),
    ],
)
def test_an_active_lease_grows_at_once_and_does_not_shrink_or_change(
    world: World, asked: Any, grown: dict[str, int], refusals: list[tuple[dict[str, Any], type[Exception]]]
) -> None:
    lease = world.active(asked, end=3)
    world.clock.advance(minutes=10)
    for wish, error in refusals:
        refused(world, error, lambda wish=wish: world.amend(lease, **change(lease, **wish)))  # type: ignore[misc]
    world.amend(lease, **change(lease, **grown))
    assert sum(world.holds(lease).values()) == max(grown.values())
    run_manager(world)
    audit(world)
    audit_cloud(world)


def test_an_active_lease_is_not_prolonged_into_anothers_time(world: World) -> None:
    lease = world.lease(hosts(), end=3)
    world.lease(hosts(5), start=3, end=4)
    run_manager(world)
    refused(world, InUseError, lambda: world.amend(lease, end=4))


def test_a_pending_flavor_lease_changes_to_another_flavor(world: World) -> None:
    lease = world.lease(flavors(1, "m1.small"), start=1, end=3)
    run_manager(world)
    world.amend(lease, **change(lease, flavor_id="m1.large"))
    run_until(world, world.hour(1))
    flavor = world.cloud.flavors.get(lease.reservations[0].id)
    assert flavor is not None
    assert (flavor.vcpus, flavor.projects) == (4, frozenset({"demo"}))


@pytest.mark.parametrize("days", [1, 3650, 365 * 2000])
def test_a_warning_farther_from_the_end_than_the_new_end_is_old_comes_at_the_start(world: World, days: int) -> None:
    """The warning may be thousands of years before the end; no date lies that long before the new end."""
    last = datetime(9998, 12, 31, tzinfo=UTC)
    draft = LeaseDraft("long", world.hour(1), last, world.hour(2), (hosts(),), fingerprint="a")
    lease = create_lease(world.service, DEMO, draft)
    amend_lease(world.service, lease.id, LeaseChanges(end=world.hour(1) + timedelta(days=days)))
    assert warning(world, lease)[0] == world.hour(1)
    amend_lease(world.service, lease.id, LeaseChanges(end=last))
    assert world.hour(1) <= warning(world, lease)[0] < last


def test_a_distance_of_warnings_longer_than_the_calendar_means_the_start(world: World) -> None:
    lease_settings = LeaseSettings(before_end=timedelta(days=999_999_999))
    lease = world.with_settings(leases=lease_settings).lease(hosts(), start=1, end=5)
    assert warning(world, lease)[0] == world.hour(1)


# ---------------------------------------------------------------- feature A12: the end at any time


@pytest.mark.parametrize(("hour", "seconds"), [(0, 30), (1, 0), (1, 20), (1, 61), (1, 119)])
def test_an_active_lease_ended_now_is_over_and_its_hosts_are_free(world: World, hour: float, seconds: int) -> None:
    lease = world.lease(hosts(5), end=3)
    world.clock.advance(seconds=10)
    run_manager(world)
    world.clock.set(world.hour(hour) + timedelta(seconds=seconds))
    world.amend(lease, end=hour)
    run_manager(world)
    assert world.get(lease).status == "TERMINATED"
    assert world.lease(hosts(5), start=hour, end=3)


@pytest.mark.parametrize("seconds", [61, 119])
def test_a_pending_lease_is_moved_to_a_now_that_was_written_in_the_last_minute(world: World, seconds: int) -> None:
    lease = world.lease(hosts(5), start=3, end=5)
    world.clock.advance(seconds=seconds)
    moved = world.amend(lease, start=0)
    assert moved.window == Window(world.hour(0), world.hour(5))
    run_manager(world)
    assert world.get(lease).status == "ACTIVE"
    audit(world)


# ---------------------------------------------------------------- feature D1: events move with the lease


@pytest.mark.parametrize("until", [1 / 1200, 1])
def test_a_lease_that_has_ended_is_not_prolonged_over_somebody_elses_time(world: World, until: float) -> None:
    """Its end has passed but its end step has not run, and its hosts are allocated to others from the end on."""
    ended = world.lease(hosts(5), start=0, end=1)
    run_until(world, world.hour(0.5))
    other = world.lease(hosts(5), start=1, end=1 + 1 / 1800)
    world.clock.set(world.hour(1) + timedelta(seconds=3))
    with pytest.raises(InvalidInputError, match="has ended") as caught:
        world.amend(ended, end=1 + until)
    assert caught.value.field == "end_date"
    assert world.get(ended).window.end == other.window.start
    assert world.amend(ended, name="over").name == "over"


def test_a_change_of_a_lease_that_has_ended_gives_none_of_its_time_a_second_time(world: World) -> None:
    """As above; the amendment asks for no change, but the allocations are written again."""
    ended = world.lease(floating_ips(), start=0, end=1)
    run_until(world, world.hour(0.5))
    world.lease(floating_ips(5), start=1, end=2)
    world.clock.set(world.hour(1) + timedelta(seconds=3))
    world.amend(ended, name="over", **change(ended, amount=1))
    assert [held.window.end for held in world.part(ended).allocations] == [world.hour(1)]
    audit(world)


@pytest.mark.parametrize(
    ("amendments", "times"),
    [
        pytest.param([], (1, 4, 5), id="as created"),
        pytest.param([{"end": 6.5}], (1, 5.5, 6.5), id="warning at its distance to the end"),
        pytest.param([{"end": 6.5}, {"before_end": 6}, {"end": 7.5}], (1, 7, 7.5), id="warning at a new distance"),
        pytest.param([{"end": 1.5}], (1, 1, 1.5), id="no warning before the start"),
        pytest.param([{"start": 2, "end": 6}], (2, 5, 6), id="start and end"),
    ],
)
def test_the_events_move_with_the_lease(
    world: World, amendments: list[dict[str, float]], times: tuple[float, ...]
) -> None:
    lease = world.lease(hosts(), start=1, end=5)
    for changes in amendments:
        world.amend(lease, **changes)
    events = {event.type: (event.time, event.status) for event in world.get(lease).events}
    types = ("start_lease", "before_end_lease", "end_lease")
    assert events == {kind: (world.hour(hour), "UNDONE") for kind, hour in zip(types, times, strict=True)}


def test_a_warning_that_was_given_is_given_again_for_the_new_end(world: World) -> None:
    lease = world.lease(hosts(), end=3)
    run_until(world, world.hour(2.5))
    assert warning(world, lease) == (world.hour(2), "DONE")
    world.amend(lease, end=5)
    assert warning(world, lease) == (world.hour(4), "UNDONE")
    run_until(world, world.hour(4))
    assert warning(world, lease) == (world.hour(4), "DONE")
    told = [kind for kind, _ in world.told(lease)]
    again = ["lease.event.before_end_lease.stop", "lease.event.before_end_lease", "lease.warning.done"]
    assert told[told.index("lease.update") + 1 :] == again


# ---------------------------------------------------------------- while a step of the lease runs


def test_a_lease_amended_while_it_is_prepared_is_prepared_as_amended(world: World) -> None:
    lease = world.lease(instances(1, 1), start=1, end=3)
    during_a_step(world, lambda: world.amend(lease, **change(lease, vcpus=3)))
    run_manager(world)
    flavor = world.cloud.flavors.get(lease.reservations[0].id)
    assert flavor is not None
    assert flavor.vcpus == 3


def test_a_lease_prolonged_while_its_warning_is_given_is_warned_again(world: World) -> None:
    lease = world.lease(hosts(), end=3)
    run_until(world, world.hour(1.9))
    world.clock.set(world.hour(2))
    during_a_step(world, lambda: world.amend(lease, end=5))
    assert warning(world, lease) == (world.hour(4), "UNDONE")
    run_until(world, world.hour(4))
    assert warning(world, lease) == (world.hour(4), "DONE")


def test_a_lease_deleted_while_it_starts_is_gone_and_leaves_nothing(world: World) -> None:
    lease = world.lease(hosts(2), instances(2), floating_ips(), end=3)
    during_a_step(world, lambda: world.delete(lease))
    assert world.get(lease).status == "DELETING"
    run_manager(world)
    assert not world.exists(lease)
    assert [aggregate.name for aggregate in world.cloud.aggregates.list()] == ["freepool"]
    assert len(world.members("freepool")) == 5
    assert world.lease(hosts(5), start=0, end=1)


def test_a_lease_deleted_while_it_is_prepared_leaves_nothing(world: World) -> None:
    lease = world.lease(hosts(2), instances(2), start=1, end=3)
    during_a_step(world, lambda: world.delete(lease))
    assert not world.exists(lease)
    run_manager(world)
    assert [aggregate.name for aggregate in world.cloud.aggregates.list()] == ["freepool"]
    assert world.cloud.flavors.get(lease.reservations[1].id) is None


def test_a_host_that_fails_while_the_warning_is_given_is_replaced_and_vacated(world: World) -> None:
    lease = world.lease(hosts(2), end=3)
    run_until(world, world.hour(1.9))
    world.clock.set(world.hour(2))
    during_a_step(world, lambda: world.fail("cmp-01"))
    run_manager(world)
    assert world.members(lease.reservations[0].id) == set(world.holds(lease))
    assert "cmp-01" not in world.holds(lease)


def test_a_host_that_failed_just_before_the_warning_is_vacated_with_it(world: World) -> None:
    """A lease runs one step at a time, so the warning must not replace the healing."""
    lease = world.lease(hosts(2), end=3)
    run_until(world, world.hour(1.9))
    world.clock.set(world.hour(2) + timedelta(seconds=1))
    world.fail("cmp-01")
    run_manager(world)
    assert world.members(lease.reservations[0].id) == set(world.holds(lease))
