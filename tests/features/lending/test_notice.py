"""What is lent is taken back after the notice that its holder was promised (decision 0147)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.ports import COMPLETE
from leasehold.features.lending.lend import list_sub_leases
from leasehold.features.lending.model import TakenBackError
from leasehold.features.lending.publish import withdraw
from leasehold.features.owned_resource.use import end_lease
from leasehold.leasing.delete import delete_lease, take_back
from leasehold.model.errors import LendingError, NotEnoughError, NotFoundError
from leasehold.model.states import EventType
from leasehold.model.terms.end_action import EndAction
from leasehold.model.terms.notice import notice_of
from tests.factory import ALT, DEMO, at_call, hosts, run_for, run_manager, run_until
from tests.unit.leasing.test_host_interleaved import before_commit

from .test_sub_lease import causes, check, members, on

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

MINUTES = 20
NOTICE = notice_of(MINUTES * 60)
LENGTH = timedelta(minutes=MINUTES)
TOLD = "lease.taken_back"


def news(world: World, lease: Lease) -> list[str]:
    return [kind for kind, _ in world.told(lease)]


def over(world: World, lease: Lease) -> bool:
    """Say whether a lease is gone, or has ended."""
    return not world.exists(lease) or world.status(lease) == "TERMINATED"


def lent(world: World, **more: Any) -> tuple[Lease, Lease]:
    """Return an active lease of two hosts up to hour 4, and a sub-lease that has started with cmp-01."""
    lease = world.active(hosts(2), end=4)
    world.clock.advance(minutes=1)
    child = world.lend(lease, "cmp-01", notice=NOTICE, **more)
    run_for(world, minutes=1)
    assert world.status(child) == "ACTIVE"
    return lease, child


def offered_part(world: World) -> Lease:
    """Return a sub-lease that was claimed of an offer with a notice."""
    lease = world.active(hosts(2), end=4)
    offer = world.offer_part(lease, notice=NOTICE)
    return world.claim(offer)


def offered_host(world: World) -> Lease:
    """Return a claim, up to hour 10, of an owner's host."""
    world.give("demo", "cmp-01")
    return world.claim(world.publish("cmp-01", notice=NOTICE))


def sub_lease(world: World, child: Lease) -> None:
    take_back(world.service, child.id)


def offer(world: World, child: Lease) -> None:
    withdraw(world.service, child.published_offer or "", "demo")


def lender(world: World, child: Lease) -> None:
    assert child.lent is not None
    delete_lease(world.service, child.lent.lease_id)


def owner(world: World, child: Lease) -> None:
    end_lease(world.service, "demo", child.id)


WAYS = [
    (offered_part, sub_lease),
    (offered_part, offer),
    (offered_part, lender),
    (offered_host, offer),
    (offered_host, owner),
]
"""How a lease was made of what others lend, and how these take it back."""


@pytest.mark.parametrize(("made", "taken"), WAYS)
def test_the_holder_has_its_hosts_until_the_notice_is_over(
    world: World, made: Callable[[World], Lease], taken: Callable[[World, Lease], None]
) -> None:
    child = made(world)
    run_for(world, minutes=2)
    server = on(world, child)
    told = world.now()
    taken(world, child)
    now = world.get(child)
    assert (now.status, now.window.end) == ("ACTIVE", told + LENGTH)
    assert now.notice is not None
    assert now.notice.since == told
    assert now.event(EventType.END).time == told + LENGTH  # type: ignore[union-attr]
    assert news(world, child).count(TOLD) == 1
    run_until(world, told + LENGTH - timedelta(seconds=1))
    assert world.status(child) == "ACTIVE"
    assert server.id in world.servers()
    run_until(world, told + LENGTH)
    run_for(world, minutes=2)
    assert over(world, child)
    assert world.servers() == set()
    check(world)


@pytest.mark.parametrize(("made", "taken"), WAYS)
def test_what_is_taken_back_twice_ends_when_it_was_told_first(
    world: World, made: Callable[[World], Lease], taken: Callable[[World, Lease], None]
) -> None:
    child = made(world)
    run_for(world, minutes=2)
    taken(world, child)
    first = world.get(child).window.end
    for again in (taken, sub_lease, taken):
        run_for(world, minutes=3)
        try:
            again(world, child)
        except NotFoundError:
            assert again is lender
        assert world.get(child).window.end == first
    assert news(world, child).count(TOLD) == 1


@pytest.mark.parametrize(("made", "taken"), WAYS)
def test_an_end_that_comes_sooner_stays_and_none_is_moved_later(
    world: World, made: Callable[[World], Lease], taken: Callable[[World, Lease], None]
) -> None:
    child = made(world)
    run_for(world, minutes=2)
    soon = world.amend(child, end=0.2).window.end
    taken(world, child)
    assert world.get(child).window.end == soon
    for end in (0.21, 3):
        with pytest.raises(TakenBackError, match="at the latest"):
            world.amend(child, end=end)
    assert world.amend(child, end=0.1).window.end == world.hour(0.1)
    with pytest.raises(TakenBackError):
        world.amend(child, end=0.2)
    run_until(world, world.hour(0.3))
    assert over(world, child)
    check(world)


@pytest.mark.parametrize(("made", "taken"), WAYS)
def test_without_a_notice_it_goes_at_once(
    world: World, made: Callable[[World], Lease], taken: Callable[[World, Lease], None], monkeypatch: Any
) -> None:
    monkeypatch.setitem(made.__globals__, "NOTICE", notice_of(0))
    child = made(world)
    run_for(world, minutes=2)
    taken(world, child)
    run_for(world, minutes=2)
    assert not world.exists(child)
    assert TOLD not in news(world, child)
    check(world)


def test_a_lender_has_its_hosts_back_after_the_notice_and_is_fixed_until_then(world: World) -> None:
    lease, child = lent(world)
    told = world.now()
    take_back(world.service, child.id)
    (listed,) = list_sub_leases(world.service, lease.id)
    assert listed.window.end == told + LENGTH
    assert (world.holds(lease), world.holds(child)) == ({"cmp-02": 1}, {"cmp-01": 1})
    with pytest.raises(LendingError):
        world.amend(lease, end=3)
    check(world)
    run_until(world, told + LENGTH + timedelta(minutes=1))
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    assert members(world, lease) == {"cmp-01", "cmp-02"}
    assert news(world, lease)[-1] == "lease.returned"
    assert world.amend(lease, end=3).window.end == world.hour(3)
    check(world)


def test_a_deleted_lender_goes_at_once_and_what_it_has_lent_is_free_after_the_notice(world: World) -> None:
    lease, child = lent(world)
    told = world.now()
    world.delete(lease)
    run_for(world, minutes=1)
    assert not world.exists(lease)
    assert (world.holds(child), members(world, child)) == ({"cmp-01": 1}, {"cmp-01"})
    cmp_01 = '["==", "$hypervisor_hostname", "cmp-01"]'
    back = (told + LENGTH - world.hour(0)) / timedelta(hours=1)
    # Whoever leases it next begins when the notice is over.
    with pytest.raises(NotEnoughError):
        world.lease(hosts(resource_properties=cmp_01), start=back - 0.01, end=back + 1, caller=ALT)
    following = world.lease(hosts(resource_properties=cmp_01), start=back, end=back + 1, caller=ALT)
    run_manager(world)
    check(world)
    run_until(world, told + LENGTH + timedelta(minutes=2))
    assert over(world, child)
    assert (world.status(following), members(world, following)) == ("ACTIVE", {"cmp-01"})
    assert causes(world, child)[-1][2] in ("ended", "ended_early")
    check(world)


def test_a_lender_that_is_deleted_during_a_notice_does_not_shorten_it(world: World) -> None:
    lease, child = lent(world)
    take_back(world.service, child.id)
    end = world.get(child).window.end
    run_for(world, minutes=5)
    world.delete(lease)
    assert world.get(child).window.end == end
    run_until(world, end + timedelta(minutes=1))
    assert over(world, child)
    check(world)
    world.lease(hosts(5), start=0.5, end=1)


def test_what_has_ended_is_not_kept_for_a_notice(world: World) -> None:
    """Its end has come, and its servers cannot be deleted yet: who deletes the lender then waits for nothing else."""
    lease, child = lent(world, end=1)
    on(world, child)
    world.break_down("servers.delete")
    run_until(world, world.hour(1) + timedelta(minutes=1))
    assert world.get(child).reached(EventType.END)
    take_back(world.service, child.id)
    assert world.status(child) == "DELETING"
    world.delete(lease)
    world.cloud.faults.clear()
    run_for(world, minutes=5)
    assert not world.exists(lease)
    assert not world.exists(child)
    check(world)


@pytest.mark.parametrize("minutes", [10, 30])
def test_a_claim_of_later_is_gone_if_it_would_begin_after_the_notice(world: World, minutes: int) -> None:
    world.give("demo", "cmp-01")
    published = world.publish("cmp-01", notice=NOTICE)
    child = world.claim(published, start=minutes / 60, end=5)
    told = world.now()
    withdraw(world.service, published.id, "demo")
    if minutes > MINUTES:
        assert not world.exists(child)
        assert news(world, child)[-1] == "lease.delete"
    else:
        assert world.get(child).window.end == told + LENGTH
        run_until(world, told + LENGTH - timedelta(minutes=1))
        assert world.status(child) == "ACTIVE"
        # The owner leases its host from the end of the notice on.
        world.lease(hosts(resource_properties='["==", "$hypervisor_hostname", "cmp-01"]'), start=MINUTES / 60, end=2)
    run_until(world, told + LENGTH + timedelta(minutes=1))
    assert over(world, child)
    check(world)


def test_the_warning_comes_as_long_before_the_new_end_as_before_or_at_once(world: World) -> None:
    lease = world.active(hosts(2), end=8)
    for minutes, waits in ((5, 15), (60, 0)):
        child = world.lend(lease, amount=1, notice=NOTICE)
        run_for(world, minutes=1)
        world.amend(child, before_end=8 - minutes / 60)
        told = world.now()
        take_back(world.service, child.id)
        run_until(world, told + timedelta(minutes=waits))
        run_manager(world)
        assert news(world, child).count("lease.event.before_end_lease") == 1
        assert world.status(child) == "ACTIVE"
        run_until(world, told + LENGTH)
        run_for(world, minutes=1)
    check(world)


def test_an_image_before_the_end_is_made_during_the_notice(world: World) -> None:
    world = world.with_settings(cloud=replace(world.service.settings.cloud, default_before_end=EndAction.SNAPSHOT))
    child = world.lend(world.active(hosts(2), end=8), amount=1, notice=NOTICE)
    run_for(world, minutes=1)
    server = on(world, child)
    take_back(world.service, child.id)
    run_for(world, minutes=MINUTES / 2)
    (image,) = world.cloud.images.of_reservation(child.reservations[0].id)
    assert (image.server_id, image.status) == (server.id, COMPLETE)
    assert server.id in world.servers()
    run_until(world, world.get(child).window.end + timedelta(minutes=1))
    assert over(world, child)


def test_a_lease_that_is_starting_ends_when_its_notice_is_over(world: World) -> None:
    """The take-back comes at each call that a start makes to the cloud."""
    for number in range(1, 40):
        hours = (world.now() - world.hour(0)) / timedelta(hours=1)
        lease = world.active(hosts(), start=hours, end=10_000)
        child = world.lend(lease, amount=1, notice=NOTICE)
        end = world.now() + LENGTH
        calls = at_call(world, number, partial(run_manager, world), partial(take_back, world.service, child.id))
        if calls < number:
            break
        run_for(world, minutes=1)
        assert world.status(child) == "ACTIVE"
        # Each call takes a moment, and a notice begins with a whole second.
        assert end <= world.get(child).window.end <= end + timedelta(seconds=1)
        run_until(world, end + timedelta(minutes=1))
        assert over(world, child)
        world.delete(lease)
        run_for(world, minutes=2)
        check(world)
    assert number > 3


def test_a_claim_made_while_its_offer_is_taken_back_is_refused_or_gets_its_notice(world: World) -> None:
    world.give("demo", "cmp-01")
    whole = world.publish("cmp-01", notice=NOTICE)
    lease = world.active(hosts(resource_properties='["==", "$hypervisor_hostname", "cmp-02"]'), end=4)
    part = world.offer_part(lease, notice=NOTICE)
    for published in (whole, part):
        late = before_commit(world, partial(withdraw, world.service, published.id, "demo"))
        with pytest.raises(NotFoundError):
            late.claim(published)
    again = world.offer_part(lease, notice=NOTICE)
    made: list[Lease] = []
    late = before_commit(world, lambda: made.append(world.claim(again)))
    withdraw(late.service, again.id, "demo")
    assert world.get(made[0]).window.end == world.now() + LENGTH


def test_two_take_backs_at_the_same_moment_are_one(world: World) -> None:
    lease, child = lent(world)
    end = world.now() + LENGTH
    late = before_commit(world, partial(world.delete, lease))
    take_back(late.service, child.id)
    assert world.get(child).window.end == end
    assert news(world, child).count(TOLD) == 1
    run_until(world, end + timedelta(minutes=1))
    assert over(world, child)
    check(world)


def test_the_holder_and_an_operator_end_it_at_once(world: World) -> None:
    """Both delete the lease of the holder itself; a holder may also amend."""
    lease, child = lent(world)
    take_back(world.service, child.id)
    world.delete(child)
    run_for(world, minutes=1)
    assert not world.exists(child)
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    check(world)


def test_an_amendment_of_the_holder_keeps_the_notice(world: World) -> None:
    child = offered_host(world)
    run_for(world, minutes=1)
    world.amend(child, {"grace_seconds": 0}, name="other")
    assert world.get(child).notice == NOTICE
    withdraw(world.service, child.published_offer or "", DEMO.project_id)
    assert world.get(child).window.end == world.now() + LENGTH
