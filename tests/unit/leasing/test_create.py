"""Creating a lease: all reservations or none, cleaning margins, limits, and one answer per idempotency key."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.conf.settings import LeaseSettings
from leasehold.db.tables import outbox
from leasehold.features.held_offer.use import give_up_offer
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import (
    ConflictError,
    InvalidDateError,
    InvalidInputError,
    LimitExceededError,
    MissingParameterError,
    NotEnoughError,
    NotEnoughFloatingIpsError,
    OutOfWindowError,
)
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.model.states import EventStatus, EventType
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import Window
from tests.factory import (
    ALT,
    DEMO,
    Clock,
    World,
    flavors,
    floating_ips,
    hosts,
    instances,
    open_service,
    run_manager,
    run_until,
)
from tests.refused import promised
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def with_leases(world: World, **settings: Any) -> World:
    return world.with_settings(leases=LeaseSettings(**settings))


def payloads(world: World, event_type: str) -> list[Any]:
    """Return what the events of a type say, in their order."""
    wanted = select(outbox.c.payload).where(outbox.c.event_type == event_type).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        return list(connection.execute(wanted).scalars())


# ---------------------------------------------------------------- all or none


def test_reservations_of_every_type_are_granted_together(world: World) -> None:
    lease = world.active(hosts(2), instances(3), flavors(2), floating_ips(2), start=0, end=2)
    assert world.status(lease) == "ACTIVE"
    audit(world)
    exclusive = set(world.holds(lease, 0))
    assert not exclusive & (set(world.holds(lease, 1)) | set(world.holds(lease, 2)))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ((hosts(2), floating_ips(6)), NotEnoughFloatingIpsError),
        ((floating_ips(2), hosts(6)), NotEnoughError),
        ((hosts(3), hosts(3)), NotEnoughError),
        ((hosts(5), instances(1)), NotEnoughError),
        ((instances(40, 1), flavors(1, "m1.small")), NotEnoughError),
        ((hosts(1), hosts(1, resource_properties='["==", "$typo", "1"]')), InvalidInputError),
        ((hosts(1), {"resource_type": "physical:unicorn"}), InvalidInputError),
        ((hosts(1), {"min": 1}), MissingParameterError),
    ],
)
def test_when_one_reservation_is_refused_none_is_granted(
    world: World, asked: tuple[Mapping[str, Any], ...], error: type[Exception]
) -> None:
    before = promised(world)
    with pytest.raises(error) as refused:
        world.lease(*asked, start=0, end=2)
    assert str(getattr(refused.value, "field", "")).startswith("reservations[")
    assert promised(world) == before


def test_touching_leases_share_a_host(world: World) -> None:
    world.lease(hosts(5), start=1, end=2)
    world.lease(hosts(5), start=2, end=3)
    world.lease(instances(40, 1), start=3, end=4)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(1), start=2.5, end=3.5)


# ---------------------------------------------------------------- feature C10: the cleaning margin


@pytest.fixture
def clean(world: World) -> World:
    """Return the service with a margin of 15 minutes, and a lease of all hosts from hour 2 to 3."""
    world = with_leases(world, cleaning_time=timedelta(minutes=15))
    lease = world.lease(hosts(5), start=2, end=3)
    assert lease.window == Window(world.hour(2), world.hour(3)), "the margin is no part of the lease"
    return world


def test_the_margin_is_kept_free_on_both_sides_and_by_the_nearest_window(clean: World) -> None:
    for start, end in ((1, 2), (1, 1.8), (3, 4), (3.2, 4)):
        with pytest.raises(NotEnoughError) as refused:
            clean.lease(hosts(1), start=start, end=end)
        nearest = refused.value.refusal.nearest
        assert nearest is not None
        assert nearest.start == clean.hour(3.25)
    assert clean.lease(hosts(5), start=1, end=1.75)
    assert clean.lease(hosts(5), start=3.25, end=4)


def test_the_margin_is_kept_when_a_lease_is_prolonged(clean: World) -> None:
    lease = clean.lease(hosts(5), start=0.5, end=1)
    with pytest.raises(NotEnoughError):
        clean.amend(lease, end=1.9)
    assert clean.amend(lease, end=1.75).window.end == clean.hour(1.75)


SECOND = 1 / 3600


@pytest.mark.parametrize(("times", "of_hosts", "of_addresses"), [({HOST: 30}, 30, 15), ({FLOATING_IP: 0}, 15, 0)])
def test_each_type_has_its_own_margin(world: World, times: dict[str, int], of_hosts: int, of_addresses: int) -> None:
    minutes = {name: timedelta(minutes=each) for name, each in times.items()}
    world = with_leases(world, cleaning_time=timedelta(minutes=15), cleaning_time_by_type=minutes)
    world.lease(hosts(5), floating_ips(5), start=2, end=3)
    for asked, margin in ((hosts(1), of_hosts), (instances(1, 1), of_hosts), (floating_ips(1), of_addresses)):
        before, after = 2 - margin / 60, 3 + margin / 60
        for start, end in ((1, before + SECOND), (after - SECOND, 4)):
            with pytest.raises(NotEnoughError) as refused:
                world.lease(asked, start=start, end=end)
            nearest = refused.value.refusal.nearest
            assert nearest is not None
            assert nearest.start >= world.hour(after) - timedelta(minutes=1)
        for start, end in ((1, before), (after, 4)):
            world.delete(world.lease(asked, start=start, end=end))


def test_a_lease_of_two_types_is_offered_a_window_with_both_margins(world: World) -> None:
    times = {HOST: timedelta(minutes=30), FLOATING_IP: timedelta(minutes=45)}
    world = with_leases(world, cleaning_time_by_type=times)
    world.lease(hosts(5), floating_ips(5), start=2, end=3)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(5), floating_ips(1), start=1.5, end=2.5)
    nearest = refused.value.refusal.nearest
    assert nearest is not None
    assert nearest.start == world.hour(3.75)


# ---------------------------------------------------------------- dates, events and limits


def test_the_warning_is_an_hour_before_the_end_and_never_before_the_start(world: World) -> None:
    long, short = world.lease(start=1, end=5), world.lease(start=1, end=1.5)
    events = [lease.event(EventType.BEFORE_END) for lease in (long, short)]
    assert [event and event.time for event in events] == [world.hour(4), world.hour(1)]


def test_without_a_distance_there_is_no_warning_unless_asked_for(world: World) -> None:
    world = with_leases(world, before_end=timedelta(0))
    assert world.lease(start=1, end=5).event(EventType.BEFORE_END) is None
    asked = world.lease(start=1, end=5, before_end=world.hour(2)).event(EventType.BEFORE_END)
    assert asked is not None
    assert asked.time == world.hour(2)


@pytest.mark.parametrize("moment", [0.5, 1, 5, 6])
def test_a_warning_outside_the_lease_is_forbidden(world: World, moment: float) -> None:
    with pytest.raises(OutOfWindowError):
        world.lease(start=1, end=5, before_end=world.hour(moment))


@pytest.mark.parametrize(("start", "end"), [(2, 2), (2, 1), (-1, 1), (-2, -1)])
def test_a_window_that_is_over_or_empty_is_refused(world: World, start: float, end: float) -> None:
    with pytest.raises(InvalidInputError):
        world.lease(start=start, end=end)


def test_now_is_the_current_minute(world: World) -> None:
    world.clock.advance(seconds=40)
    lease = world.active(hosts(5), start=0, end=1)
    assert world.status(lease) == "ACTIVE"


@pytest.mark.parametrize("late", [0, 1, 59.9, 60, 119.9])
def test_a_start_that_was_now_when_it_was_written_is_granted_in_the_next_minute(world: World, late: float) -> None:
    world.clock.advance(seconds=late)
    lease = world.lease(hosts(3), instances(2), start=0, end=1)
    assert lease.window == Window(world.hour(0), world.hour(1))
    promised = {held.window.start for part in world.get(lease).reservations for held in part.allocations}
    assert promised == {world.now().replace(microsecond=0)}
    run_manager(world)
    assert world.status(lease) == "ACTIVE"
    audit(world)


@pytest.mark.parametrize("late", [120, 121, 3600])
def test_a_start_that_is_longer_ago_than_a_minute_is_refused(world: World, late: float) -> None:
    world.clock.advance(seconds=late)
    with pytest.raises(InvalidDateError, match="Start date must be later than the current date"):
        world.lease(hosts(), start=0, end=5)


def test_a_start_in_the_last_minute_is_no_way_to_time_that_was_somebody_elses(world: World) -> None:
    before = world.active(hosts(5), start=0, end=1 / 60)
    world.clock.advance(seconds=59)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(5), start=0, end=1)
    world.clock.advance(seconds=2)
    run_manager(world)
    assert world.status(before) == "TERMINATED"
    assert world.lease(hosts(5), start=0, end=1).window.start == world.hour(0)


def test_events_of_the_client_are_told_once_each_at_their_dates(world: World) -> None:
    asked = {"early": 0.5, "copy": 2, "late": 4.5, "start_lease": 0, "end_lease": 0}
    events = (("only shown", None), *((name, world.hour(hour)) for name, hour in asked.items()))
    lease = world.lease(hosts(), start=1, end=5, events=events)
    ours = ["before_end_lease", "end_lease", "start_lease"]
    assert sorted(event.type for event in lease.events) == sorted([*ours, "copy", "early", "late", "only shown"])
    told = []
    for hour in (0.4, 0.6, 1.9, 2, 3):
        run_until(world, world.hour(hour))
        told.append([payload["event"]["event_type"] for payload in payloads(world, "lease.own_event")])
    assert told == [[], ["early"], ["early"], ["early", "copy"], ["early", "copy"]]
    # What is left when the lease ends earlier is told then.
    world.amend(lease, end=4)
    run_until(world, world.hour(6))
    assert payloads(world, "lease.own_event")[-1]["event"]["time"] == world.hour(4.5).isoformat()
    found = {event.type: event.status for event in world.get(lease).events if event.type not in ours}
    assert found == {**dict.fromkeys(("copy", "early", "late"), EventStatus.DONE), "only shown": None}
    assert world.status(lease) == "TERMINATED"


def test_an_event_of_the_client_after_the_end_is_refused(world: World) -> None:
    with pytest.raises(InvalidDateError, match="event_date") as refused:
        world.lease(hosts(), start=1, end=5, events=(("mine", world.hour(5.1)),))
    assert refused.value.field == "events"


def test_events_of_a_lease_that_waits_are_told_when_it_is_granted(world: World) -> None:
    blocking = world.lease(hosts(5), start=0, end=3)
    mine, last = (("mine", world.hour(0.5)),), world.hour(4)
    lease = world.lease(hosts(), start=2, end=6, events=mine, type=LeaseType.WAITLIST, deadline=last)
    run_until(world, world.hour(1))
    assert payloads(world, "lease.own_event") == []
    world.delete(blocking)
    run_until(world, world.hour(1.5))
    assert (world.status(lease), len(payloads(world, "lease.own_event"))) == ("PENDING", 1)


def test_the_longest_duration_is_for_everybody_but_exempt_projects(world: World) -> None:
    world = with_leases(
        world,
        enforcement_filters=("MaxLeaseDurationFilter",),
        max_duration=timedelta(hours=4),
        max_duration_exempt_projects=frozenset({"alt"}),
    )
    lease = world.lease(hosts(), start=1, end=5)
    with pytest.raises(LimitExceededError):
        world.lease(hosts(), start=1, end=5.1)
    with pytest.raises(InvalidInputError):
        world.amend(lease, end=5.1)
    assert world.lease(hosts(), start=1, end=9, caller=ALT)


# ---------------------------------------------------------------- idempotency


def test_the_same_key_again_returns_the_lease_that_it_made(world: World) -> None:
    made = world.lease(hosts(5), start=0, end=2, key="k1")
    world.clock.advance(minutes=30)
    before = dump(world.engine)
    again = world.lease(hosts(5), start=0, end=2, key="k1")
    assert again.id == made.id
    assert dump(world.engine) == before


def test_a_key_of_another_request_is_a_conflict_and_of_another_project_is_not(world: World) -> None:
    world.lease(hosts(), start=1, end=2, key="k1")
    with pytest.raises(ConflictError):
        world.lease(hosts(2), start=1, end=2, key="k1")
    assert world.lease(hosts(2), start=1, end=2, key="k1", caller=ALT)


@pytest.mark.parametrize("hold", [None, timedelta(minutes=5)])
def test_the_key_of_what_was_deleted_says_so_and_makes_no_other(world: World, hold: timedelta | None) -> None:
    draft = LeaseDraft("a", world.hour(1), world.hour(2), reservations=(hosts(5),), fingerprint="a", hold=hold)
    made = create_lease(world.service, DEMO, draft, "k1")
    if hold is None:
        world.delete(made)
    else:
        give_up_offer(world.service, made.id)
    for fingerprint, said in (("a", f"{made.id} was deleted"), ("b", "used for another request")):
        with pytest.raises(ConflictError, match=said):
            create_lease(world.service, DEMO, replace(draft, fingerprint=fingerprint), "k1")
    assert create_lease(world.service, DEMO, draft, "k2")


def test_the_key_of_a_refused_request_may_be_used_again(world: World) -> None:
    with pytest.raises(NotEnoughError):
        world.lease(hosts(6), start=1, end=2, key="k1")
    assert world.lease(hosts(5), start=1, end=2, key="k1")


def test_another_process_decides_on_the_same_books(world: World) -> None:
    other = open_service(str(world.engine.url), clock=Clock())
    world.lease(hosts(3), start=1, end=2)
    with pytest.raises(NotEnoughError):
        other.lease(hosts(3), start=1, end=2)
    other.lease(hosts(2), start=1, end=2)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(1), start=1, end=2)
    other.engine.dispose()
