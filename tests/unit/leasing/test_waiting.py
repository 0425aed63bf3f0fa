"""Features A2, A3, A6, A17: leases that start now or never, and leases that wait for resources and are tried again."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.db.clock import utc_now
from leasehold.db.leases.lease import find_lease
from leasehold.leasing.resources.property import set_privacy
from leasehold.manager.task_runner import run_task
from leasehold.model.caller import EVERYTHING, Sight
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import (
    InvalidDateError,
    InvalidInputError,
    MissingParameterError,
    NotEnoughError,
    TooMuchHeldError,
    WaitingLeaseError,
)
from leasehold.model.resource import HOST
from leasehold.model.states import EventType
from leasehold.model.terms.lease_type import LeaseType
from tests.approver import ALLOW, approving, deny
from tests.factory import ALT, claim_one, hosts, instances, run_for, run_manager, run_until
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

PAUSE = timedelta(minutes=1)
ALL = hosts(5)


def retry(world: World, *parts: Any, retries: int = 3, **more: Any) -> Lease:
    """Ask for a lease that is tried again every minute."""
    return world.lease(*parts, type=LeaseType.RETRY, retries=retries, retry_pause=PAUSE, **more)


def waitlist(world: World, *parts: Any, until: float = 10, **more: Any) -> Lease:
    """Ask for a lease that waits until this many hours after the start of the test; the next one asks after it."""
    world.clock.advance(microseconds=1)
    more = {"deadline": world.hour(until), "retry_pause": PAUSE, **more}
    return world.lease(*parts, type=LeaseType.WAITLIST, **more)


def types(world: World, lease: Lease) -> list[str]:
    return [kind for kind, _ in world.told(lease)]


# ------------------------------------------------------------ immediate


def test_an_immediate_lease_is_granted_in_the_call_and_starts(world: World) -> None:
    lease = world.lease(hosts(2), type=LeaseType.IMMEDIATE)
    assert (lease.status, lease.type, len(world.holds(lease))) == ("PENDING", LeaseType.IMMEDIATE, 2)
    run_manager(world)
    assert world.status(lease) == "ACTIVE"


def test_an_immediate_lease_that_is_refused_leaves_no_trace(world: World) -> None:
    world.lease(hosts(4))
    before = dump(world.engine)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(2), type=LeaseType.IMMEDIATE)
    assert dump(world.engine) == before


def test_an_immediate_lease_starts_now_and_not_later(world: World) -> None:
    with pytest.raises(InvalidDateError, match="starts now") as refused:
        world.lease(hosts(1), start=1, end=2, type=LeaseType.IMMEDIATE)
    assert refused.value.field == "start_date"
    world.clock.advance(seconds=70)
    assert world.lease(hosts(1), start=0, type=LeaseType.IMMEDIATE).status == "PENDING"


# ------------------------------------------------------------ retry


@pytest.mark.parametrize("ask", [retry, waitlist])
def test_what_fits_is_granted_at_once(world: World, ask: Any) -> None:
    lease = ask(world, ALL)
    assert (lease.status, lease.waiting, types(world, lease)) == ("PENDING", None, ["lease.create"])


def test_a_lease_that_waits_holds_nothing_and_says_why(world: World) -> None:
    world.lease(ALL)
    lease = retry(world, hosts(2))
    assert (lease.status, world.statuses(lease), world.holds(lease)) == ("IN_PROGRESS", ["pending"], {})
    assert "host" in world.reason(lease)
    assert types(world, lease) == ["lease.create", "lease.waiting"]
    audit(world)


@pytest.mark.parametrize("retries", [1, 2, 3])
def test_it_is_tried_again_exactly_so_often(world: World, retries: int) -> None:
    world.lease(ALL)
    lease = retry(world, hosts(1), retries=retries)
    for tried in range(retries):
        found = world.get(lease).waiting
        assert found is not None
        assert (world.status(lease), found.tried) == ("IN_PROGRESS", tried)
        assert "waiting does not help" not in world.reason(lease)
        run_for(world, seconds=PAUSE.total_seconds())
    ended = world.get(lease)
    assert ended.waiting is not None
    assert (ended.status, ended.waiting.tried, world.statuses(lease)) == ("ERROR", retries, ["deleted"])
    assert "not granted. Not enough hosts available: 1 asked, 0 free" in world.reason(lease)
    assert "waiting does not help" not in world.reason(lease)
    assert types(world, lease)[-1] == "lease.timedout"
    run_for(world, minutes=50)
    assert world.status(lease) == "ERROR"
    audit(world)
    with pytest.raises(InvalidInputError, match="renamed"):
        world.amend(lease, end=9)
    world.delete(lease)
    run_manager(world)
    assert not world.exists(lease)


def test_a_lease_that_is_deleted_while_it_waits_has_no_reason_to_wait_any_more(world: World) -> None:
    world.lease(hosts(5))
    lease = waitlist(world, hosts(1))
    assert world.reason(lease)
    world.delete(lease)
    with world.service.db.reading() as connection:
        gone = find_lease(connection, lease.id, gone=True)
    assert gone is not None
    assert gone.status_reason is None


def test_what_becomes_free_between_two_tries_is_granted_at_once(world: World) -> None:
    first = world.lease(ALL)
    lease = retry(world, hosts(2), end=0.5)
    run_for(world, seconds=90)
    world.delete(first)
    run_manager(world)
    now = world.get(lease)
    assert now.status == "ACTIVE"
    # Its start has passed, so it begins now and lasts as long as asked.
    assert (now.window.start, now.window.duration) == (world.now(), timedelta(minutes=30))
    assert world.event(lease, EventType.END).time == now.window.end
    assert now.waiting is not None
    assert (now.waiting.tried, now.waiting.granted, now.status_reason) == (1, True, None)
    assert types(world, lease)[:3] == ["lease.create", "lease.waiting", "lease.granted"]
    audit(world)


def test_a_try_in_between_is_not_counted(world: World) -> None:
    world.lease(hosts(4))
    lease = retry(world, hosts(2))
    for _ in range(4):
        world.delete(world.lease(hosts(1)))
        run_manager(world)
    waiting = world.get(lease).waiting
    assert waiting is not None
    assert (waiting.tried, world.status(lease)) == (0, "IN_PROGRESS")


def test_a_start_that_is_still_ahead_stays(world: World) -> None:
    first = world.lease(ALL, start=1, end=2)
    lease = retry(world, hosts(1), start=1, end=3, before_end=world.hour(2.5))
    world.delete(first)
    run_manager(world)
    now = world.get(lease)
    assert (now.status, now.window.start, now.window.end) == ("PENDING", world.hour(1), world.hour(3))
    assert world.event(lease, EventType.BEFORE_END).time == world.hour(2.5)


def test_the_warning_keeps_its_distance_to_the_end(world: World) -> None:
    first = world.lease(ALL, end=5)
    lease = waitlist(world, hosts(1), end=2, before_end=world.hour(1.75))
    run_for(world, hours=1)
    world.delete(first)
    run_manager(world)
    assert world.event(lease, EventType.BEFORE_END).time == world.get(lease).window.end - timedelta(minutes=15)
    assert world.get(lease).window.end == world.hour(3)


def test_reminders_count_from_the_end_it_gets(world: World) -> None:
    first = world.lease(ALL, end=3)
    lease = waitlist(world, hosts(1), end=0.5)
    run_for(world, hours=1)
    world.delete(first)
    run_manager(world)
    assert world.get(lease).reminded == 40 * 60


# ------------------------------------------------------------ waitlist


def test_the_end_of_a_lease_serves_the_line(world: World) -> None:
    world.lease(ALL, end=1)
    lines = [waitlist(world, hosts(2), end=2), waitlist(world, hosts(3), end=2), waitlist(world, hosts(1), end=2)]
    run_until(world, world.hour(1) + timedelta(seconds=5))
    assert [world.status(each) for each in lines] == ["ACTIVE", "ACTIVE", "IN_PROGRESS"]
    audit(world)


def test_a_later_one_overtakes_none_that_fits(world: World) -> None:
    """All are due at the same moment, and a task of another project may be claimed first."""
    first = world.lease(ALL)
    early = waitlist(world, hosts(3))
    late = waitlist(world, hosts(3), caller=ALT)
    world.delete(first)
    run_manager(world)
    run_for(world, seconds=3)
    assert [world.status(early), world.status(late)] == ["ACTIVE", "IN_PROGRESS"]


def test_one_that_does_not_fit_delays_nobody(world: World) -> None:
    held = [world.lease(hosts(1)) for _ in range(5)]
    large, small = waitlist(world, hosts(3)), waitlist(world, hosts(1))
    world.delete(held[0])
    run_for(world, seconds=3)
    assert [world.status(large), world.status(small)] == ["IN_PROGRESS", "ACTIVE"]


def test_a_new_one_goes_to_the_end_of_the_line(world: World) -> None:
    first = world.lease(ALL)
    early = waitlist(world, hosts(4))
    world.delete(first)
    late = waitlist(world, hosts(2))
    assert (late.status, late.status_reason) == ("IN_PROGRESS", "Other leases that wait come first.")
    run_for(world, seconds=3)
    assert [world.status(early), world.status(late)] == ["ACTIVE", "IN_PROGRESS"]


def test_its_deadline_is_kept_to_the_second(world: World) -> None:
    first = world.lease(ALL, end=9)
    lease = waitlist(world, hosts(1), until=2)
    run_until(world, world.hour(2) - timedelta(seconds=1))
    assert world.status(lease) == "IN_PROGRESS"
    run_until(world, world.hour(2))
    assert (world.status(lease), world.statuses(lease)) == ("TIMEDOUT", ["deleted"])
    assert "deadline. Not enough hosts" in world.reason(lease)
    assert "waiting does not help" not in world.reason(lease)
    assert types(world, lease)[-1] == "lease.timedout"
    world.delete(first)
    run_for(world, minutes=5)
    assert world.status(lease) == "TIMEDOUT"
    audit(world)
    world.amend(lease, name="other")
    world.delete(lease)
    assert not world.exists(lease)


# ------------------------------------------------------------ what frees


def test_a_new_host_and_a_lease_that_ends_early_free_something(world: World) -> None:
    first = world.lease(ALL, end=9)
    run_manager(world)
    lines = [waitlist(world, hosts(1), end=1, until=20) for _ in range(2)]
    world.enrol("cmp-05")
    run_for(world, seconds=3)
    assert [world.status(each) for each in lines] == ["ACTIVE", "IN_PROGRESS"]
    world.amend(first, end=0.25)
    run_until(world, world.hour(0.25) + timedelta(seconds=3))
    assert world.status(lines[1]) == "ACTIVE"


@pytest.mark.parametrize("how", ["ended early", "deleted", "over"])
def test_what_is_clean_again_is_granted_at_that_moment(world: World, how: str) -> None:
    """The pause of a minute between two tries does not matter, and the tries in between are not counted."""
    cleaning = timedelta(minutes=10, seconds=30)
    careful = world.with_settings(leases=LeaseSettings(cleaning_time=cleaning))
    first = careful.active(ALL, start=0, end=1 if how == "over" else 3)
    run_for(careful, minutes=40)
    waiting = waitlist(careful, ALL, start=2 / 3, end=5 / 3)
    run_for(careful, minutes=20)
    if how == "ended early":
        careful.amend(first, end=1)
    elif how == "deleted":
        careful.delete(first)
    run_until(careful, careful.hour(1) + cleaning - timedelta(seconds=1))
    assert careful.status(waiting) == "IN_PROGRESS"
    run_for(careful, seconds=1)
    assert careful.status(waiting) == "ACTIVE"
    assert careful.get(waiting).window.start == careful.hour(1) + cleaning


def test_what_servers_leave_after_the_end_is_clean_later(world: World) -> None:
    cleaning = timedelta(minutes=10, seconds=30)
    careful = world.with_settings(leases=LeaseSettings(cleaning_time=cleaning))
    first = careful.active(hosts(5, grace_seconds=3600), end=1)
    server = careful.boot(first)
    run_for(careful, minutes=40)
    waiting = waitlist(careful, ALL, start=2 / 3, end=5 / 3)
    run_for(careful, minutes=30)
    careful.cloud.servers.delete(server.id)
    run_for(careful, minutes=5)
    (left,) = {each.window.end for each in careful.part(first).allocations if each.window.end > careful.hour(1)}
    assert careful.hour(1.15) < left <= careful.now()
    run_until(careful, left + cleaning)
    assert careful.get(waiting).window.start == left + cleaning


def test_a_host_that_works_again_is_given_to_who_waits(world: World) -> None:
    world.fail("cmp-01")
    world.lease(hosts(4), end=9)
    lease = waitlist(world, hosts(1))
    assert lease.waits
    world.recover("cmp-01")
    run_manager(world)
    assert world.status(lease) == "ACTIVE"


# ------------------------------------------------------------ amend and delete


def test_the_name_and_the_dates_of_a_waiting_lease_change(world: World) -> None:
    world.lease(ALL, end=3)
    lease = waitlist(world, hosts(1), end=1, until=20)
    assert world.amend(lease, name="other").name == "other"
    run_for(world, minutes=30)
    # Its start has passed, so it would begin now.
    world.clock.set(world.now().replace(microsecond=0) + timedelta(seconds=1))
    amended = world.amend(lease, end=3)
    assert (amended.status, amended.window.start, amended.window.end) == ("IN_PROGRESS", world.now(), world.hour(3))
    amended = world.amend(lease, start=3, end=4)
    run_manager(world)
    found = world.get(lease)
    assert (found.status, found.window.start, found.window.end) == ("PENDING", world.hour(3), world.hour(4))
    audit(world)


def test_what_a_waiting_lease_asks_for_stays(world: World) -> None:
    world.lease(ALL)
    lease = retry(world, hosts(2))
    before = dump(world.engine)
    with pytest.raises(WaitingLeaseError, match="delete it"):
        world.amend(lease, {"min": 1, "max": 1})
    with pytest.raises(InvalidInputError, match="end"):
        world.amend(lease, end=0)
    assert dump(world.engine) == before


def test_a_waiting_lease_is_deleted_at_once(world: World) -> None:
    first = world.lease(ALL)
    lease, behind = retry(world, ALL), retry(world, hosts(1))
    world.delete(lease)
    assert not world.exists(lease)
    world.delete(first)
    run_manager(world)
    assert world.status(behind) == "ACTIVE"
    assert types(world, lease) == ["lease.create", "lease.waiting", "lease.delete"]
    audit(world)


# ------------------------------------------------------------ limits and errors


def test_a_limit_at_the_grant_is_a_refused_try(world: World) -> None:
    limited = world.with_settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 5})))
    other = limited.lease(ALL, caller=ALT)
    lease = retry(limited, hosts(3), retries=2)
    # Meanwhile the operator allows less.
    stricter = world.with_settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 2})))
    stricter.delete(other)
    run_manager(stricter)
    assert stricter.status(lease) == "IN_PROGRESS"
    assert "may have 2" in stricter.reason(lease)
    late = waitlist(stricter, hosts(2), caller=ALT)
    assert late.status == "PENDING", "who is kept by a limit lets others go first"
    run_for(stricter, minutes=3)
    assert (stricter.status(lease), "may have 2" in stricter.reason(lease)) == ("ERROR", True)


def test_an_open_lease_is_counted_once(world: World) -> None:
    limited = world.with_settings(leases=LeaseSettings(limits=LimitSettings(open_leases=2, user_open_leases=2)))
    first = limited.lease(ALL)
    lease = retry(limited, hosts(1))
    with pytest.raises(Exception, match="2 open leases"):
        limited.lease(hosts(1), start=5, end=6)
    limited.delete(first)
    limited.lease(hosts(1), start=5, end=6)
    run_manager(limited)
    assert limited.status(lease) == "ACTIVE"


def test_a_limit_at_the_request_refuses_it(world: World) -> None:
    limited = world.with_settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 2})))
    with pytest.raises(TooMuchHeldError):
        retry(limited, hosts(3))


def test_another_service_is_asked_at_the_grant(world: World) -> None:
    with approving() as approver:
        asking = world.with_settings(leases=approver.settings())
        first = asking.lease(ALL)
        lease = retry(asking, hosts(2), end=0.5, retries=2)
        behind = waitlist(asking, hosts(5), caller=ALT)
        assert approver.paths == ["/v1/check-create"], "there is nothing to approve before it is granted"
        approver.answer = deny(b'{"message": "ask your boss"}')
        asking.delete(first)
        run_manager(asking)
        assert (asking.status(lease), "boss" in asking.reason(lease)) == ("IN_PROGRESS", True)
        question = next(body for body in map(json.loads, (each.body for each in approver.asked[1:])) if "lease" in body)
        assert len(question["lease"]["reservations"][0]["allocations"]) in (2, 5)
        approver.answer = ALLOW
        run_for(asking, minutes=1)
        # Whoever was denied delays nobody: which of the two is tried first may differ.
        assert sorted(map(asking.status, (lease, behind))) == ["ACTIVE", "IN_PROGRESS"]
        waited = len(approver.asked)
        asking.delete(lease if asking.status(lease) == "IN_PROGRESS" else behind)
        assert len(approver.asked) == waited, "it was never told of a lease that waits"
    audit(world)


def test_a_lost_claim_grants_nothing(world: World) -> None:
    first = world.lease(ALL)
    lease = retry(world, hosts(1))
    world.delete(first)
    claim = claim_one(world)
    while claim is not None and claim.subject != lease.id:
        run_task(world.service, claim)
        claim = claim_one(world)
    assert claim is not None
    world.clock.advance(seconds=world.service.settings.manager.claim_seconds + 1)
    run_manager(world)
    assert world.status(lease) == "ACTIVE"
    before = world.get(lease)
    run_task(world.service, claim)
    assert world.get(lease) == before


@pytest.mark.parametrize("sight", [EVERYTHING, Sight(hosts=False, private=False)])
def test_a_property_that_has_become_private_is_not_waited_for_by_those_who_may_not_use_it(
    world: World, sight: Sight
) -> None:
    first = world.lease(ALL, end=4)
    lease = waitlist(world, hosts(resource_properties='["==", "$rack", "r1"]'), sight=sight)
    set_privacy(world.service, HOST, "rack", private=True)
    behind = waitlist(world, hosts(5), sight=sight)
    world.delete(first)
    run_manager(world)
    hidden = not sight.private
    assert (world.status(lease), world.status(behind)) == (
        ("IN_PROGRESS", "ACTIVE") if hidden else ("ACTIVE", "IN_PROGRESS")
    )
    if hidden:
        assert "No host has a property $rack" in str(world.get(lease).status_reason)
        set_privacy(world.service, HOST, "rack", private=False)
        world.delete(behind)
        run_manager(world)
        assert world.status(lease) != "IN_PROGRESS"
    audit(world)


def test_two_types_wait_for_what_they_ask_for(world: World) -> None:
    first = world.lease(hosts(5), end=4)
    lease = waitlist(world, instances(2), hosts(1))
    world.delete(first)
    run_manager(world)
    assert world.status(lease) == "ACTIVE"
    audit(world)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"type": LeaseType.RETRY, "retries": 0}, "retries"),
        ({"type": LeaseType.RETRY, "retries": 13}, "retries"),
        ({"type": LeaseType.RETRY, "retry_pause": timedelta(seconds=9)}, "retry_seconds"),
        ({"type": LeaseType.RETRY, "retry_pause": timedelta(minutes=6)}, "retry_seconds"),
        ({"type": LeaseType.RETRY, "deadline": utc_now()}, "deadline"),
        ({"type": LeaseType.WAITLIST, "retries": 1, "deadline": utc_now()}, "retries"),
        ({"type": LeaseType.SCHEDULED, "retry_pause": PAUSE}, "retry_seconds"),
        ({"type": LeaseType.IMMEDIATE, "retries": 1}, "retries"),
        ({"retries": 1}, "retries"),
        ({"type": LeaseType.WAITLIST}, "deadline"),
    ],
)
def test_what_does_not_belong_together_is_refused(world: World, more: dict[str, Any], field: str) -> None:
    before = dump(world.engine)
    with pytest.raises(InvalidInputError) as refused:
        world.lease(hosts(1), **more)
    assert refused.value.field == field
    assert dump(world.engine) == before


def test_a_deadline_lies_ahead(world: World) -> None:
    with pytest.raises(InvalidDateError, match="deadline"):
        waitlist(world, hosts(1), until=0)
    with pytest.raises(MissingParameterError):
        waitlist(world, hosts(1), deadline=None)


def test_a_repeated_key_returns_the_lease_that_waits(world: World) -> None:
    world.lease(ALL)
    lease = retry(world, hosts(1), key="k")
    assert retry(world, hosts(1), key="k") == world.get(lease)
    assert isinstance(LeaseDraft("l", world.hour(0), world.hour(1)).type, LeaseType)
