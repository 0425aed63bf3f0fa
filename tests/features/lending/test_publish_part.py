"""Feature I4: a lessee publishes hosts of its lease, and whoever claims some has a sub-lease of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from leasehold.conf.settings import LeaseSettings
from leasehold.db.store import Database
from leasehold.features.lending.lend import list_sub_leases
from leasehold.features.lending.model import (
    FewerOfferedError,
    NotLendableError,
    OutsideOfferError,
    SubLeaseFixedError,
    SubLeaseLevelError,
)
from leasehold.features.lending.publish import get_published, list_published, withdraw
from leasehold.leasing.create import create_lease
from leasehold.model.caller import Caller
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import (
    BusyError,
    ConflictError,
    InvalidDateError,
    InvalidInputError,
    LendingError,
    NotFoundError,
    NotFreeInOfferError,
    TooManyLeasesError,
)
from leasehold.model.windows import OPEN_END
from tests.factory import ALT, DEMO, at_call, dies_at, floating_ips, hosts, run_for, run_manager, run_until
from tests.features.lending.test_sub_lease import EVERYBODY, check, limited, members, on
from tests.refused import refused
from tests.stateful.audit import dump
from tests.unit.leasing.test_host_interleaved import before_commit

if TYPE_CHECKING:
    from leasehold.features.lending.published_offer import PublishedOffer
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

THIRD = Caller("carol", "third")


def lender(world: World, many: int = 2, end: float = 4) -> Lease:
    """Return an active lease of hosts, of which cmp-01 is the first."""
    lease = world.active(hosts(many), end=end)
    world.clock.advance(minutes=1)
    return lease


def now(world: World, offer: PublishedOffer) -> PublishedOffer:
    """Return the offer as it is now."""
    return get_published(world.service, offer.id, None)


def left(world: World, offer: PublishedOffer) -> int:
    part = now(world, offer).part
    assert part is not None
    return part.left


# ---------------------------------------------------------------- offers


def test_hosts_of_a_lease_are_offered_claimed_and_come_back(world: World) -> None:
    lease = lender(world)
    offer = world.offer_part(lease, 2, end=3)
    # It holds nothing.
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    ((start, end),) = world.free(offer)
    assert (left(world, offer), round(start * 60), end) == (2, 1, 3)
    claimed = world.claim(offer, end=2)
    assert (claimed.project_id, claimed.published_offer) == ("alt", offer.id)
    assert (claimed.lent and claimed.lent.lease_id, claimed.window.end) == (lease.id, world.hour(2))
    assert world.holds(claimed) == {"cmp-02": 1}
    assert left(world, offer) == 1
    run_for(world, minutes=2)
    assert (world.status(claimed), members(world, claimed)) == ("ACTIVE", {"cmp-02"})
    assert [each.id for each in list_sub_leases(world.service, lease.id)] == [claimed.id]
    second = world.claim(offer, caller=THIRD)
    assert (second.window.end, world.free(offer), left(world, offer)) == (world.hour(3), [], 0)
    with pytest.raises(NotFreeInOfferError, match="nothing of it is free now"):
        world.claim(offer)
    run_until(world, world.hour(2) + timedelta(minutes=5))
    assert left(world, offer) == 1
    run_until(world, world.hour(3) + timedelta(minutes=5))
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    assert now(world, offer).status(world.now()) == "expired"
    run_until(world, world.hour(4.5))
    assert (world.servers(), world.members("freepool")) == (set(), EVERYBODY)
    check(world)


def test_an_offer_tells_what_each_host_has_at_least(world: World) -> None:
    lease = world.active(hosts(5), end=4)
    offer = world.offer_part(lease, 5)
    part = now(world, offer).part
    assert part is not None
    every = [each.capacity for each in world.listed() if each.label in EVERYBODY]
    assert len({each["VCPU"] for each in every}) > 1
    for name in ("VCPU", "MEMORY_MB", "DISK_GB"):
        assert part.capacity[name] == min(each[name] for each in every)


def test_an_offer_lies_within_its_lease(world: World) -> None:
    lease = lender(world)
    for start, end in ((None, 4.5), (3, 2), (2, 2), (0, 0)):
        refused(world, InvalidDateError, partial(world.offer_part, lease, 1, end, start=start))
    assert world.offer_part(lease).window.end == lease.window.end
    later = world.offer_part(lease, start=2, end=3)
    with pytest.raises(NotFreeInOfferError) as caught:
        world.claim(later)
    assert caught.value.details["free"] == [
        {"start_date": world.hour(2).isoformat(), "end_date": world.hour(3).isoformat()}
    ]
    run_until(world, world.hour(2))
    assert world.claim(later).window.start == world.hour(2)


def test_no_more_is_offered_at_a_moment_than_there_is(world: World) -> None:
    lease = lender(world, 3)
    first = world.offer_part(lease, 2, end=2)
    error = refused(world, NotLendableError, lambda: world.offer_part(lease, 2, start=1, end=3))
    assert "has 3 hosts, of which 2 are offered at that time already" in error.message
    world.offer_part(lease, 3, start=2, end=3)
    world.offer_part(lease, 1, start=1, end=2)
    refused(world, NotLendableError, lambda: world.offer_part(lease, 1, end=1.5))
    # What was claimed of it was there as well.
    world.claim(first, end=1, amount=2)
    run_manager(world)
    refused(world, NotLendableError, lambda: world.offer_part(lease, 2, end=1))
    world.offer_part(lease, 1, end=1)
    withdraw(world.service, first.id, "demo")
    run_for(world, minutes=5)
    world.offer_part(lease, 1, end=0.9)


def test_what_was_offered_before_now_counts_no_more(world: World) -> None:
    lease = lender(world, 3)
    world.offer_part(lease, 3, end=1)
    run_until(world, world.hour(1))
    assert world.claim(world.offer_part(lease, 3, start=0, end=2), amount=3).window.start == world.hour(1)


def test_what_cannot_be_lent_cannot_be_offered(world: World) -> None:
    early = world.lease(hosts(), start=1, end=2)
    refused(world, NotLendableError, lambda: world.offer_part(early))
    address = world.active(floating_ips(), end=2)
    refused(world, NotLendableError, lambda: world.offer_part(address))
    lease = lender(world)
    refused(world, InvalidInputError, lambda: world.offer_part(lease, reservation_id="other"))
    refused(world, InvalidInputError, lambda: world.offer_part(lease, for_project="demo"))
    child = world.lend(lease, amount=1)
    run_manager(world)
    refused(world, SubLeaseLevelError, lambda: world.offer_part(child))
    gone = lender(world, 1)
    world.delete(gone)
    run_manager(world)
    refused(world, NotFoundError, lambda: world.offer_part(gone))


def test_a_claim_is_not_offered_on(world: World) -> None:
    lease = lender(world)
    claimed = world.claim(world.offer_part(lease))
    run_for(world, minutes=1)
    assert world.status(claimed) == "ACTIVE"
    refused(world, SubLeaseLevelError, lambda: world.offer_part(world.get(claimed)))
    world.give("demo", "gpu-03")
    whole = world.claim(world.publish("gpu-03", 0, 4))
    run_for(world, minutes=1)
    refused(world, NotLendableError, lambda: world.offer_part(world.get(whole)))


def test_a_lease_without_an_end_is_offered_for_a_time(world: World) -> None:
    world = world.with_settings(leases=LeaseSettings(open_ended=timedelta(days=30)))
    draft = LeaseDraft("l", world.hour(0), OPEN_END, reservations=(hosts(2),), open_ended=True)
    lease = create_lease(world.service, DEMO, draft)
    run_manager(world)
    refused(world, InvalidDateError, lambda: world.offer_part(lease))
    claimed = world.claim(world.offer_part(lease, end=2))
    assert claimed.window.end == world.hour(2)
    run_until(world, world.hour(2.2))
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}


# ---------------------------------------------------------------- who sees and claims it


def test_an_offer_for_one_project_is_not_there_for_others(world: World) -> None:
    offer = world.offer_part(lender(world), for_project="alt")
    for project in ("demo", "alt", None):
        assert [each.id for each in list_published(world.service, project)] == [offer.id]
    assert list_published(world.service, "third") == []
    refused(world, NotFoundError, lambda: world.claim(offer, caller=THIRD))
    for stranger in ("alt", "third"):
        refused(world, NotFoundError, partial(withdraw, world.service, offer.id, stranger))
    refused(world, InvalidInputError, lambda: world.claim(offer, caller=DEMO))
    assert world.claim(offer).project_id == "alt"


def test_a_claimer_learns_nothing_of_the_lender(world: World) -> None:
    lease = lender(world)
    offer = world.offer_part(lease, 2)
    server = on(world, lease, "demo")
    error = refused(world, FewerOfferedError, lambda: world.claim(offer, amount=2))
    assert (error.field, error.details) == ("amount", {"free": 1})
    told = f"{error.message} {error.details}"
    assert not [each for each in (server.id, lease.id, "cmp-0", "demo") if each in told]
    assert world.claim(offer).project_id == "alt"
    error = refused(world, FewerOfferedError, lambda: world.claim(offer))
    assert error.details == {"free": 0}


@pytest.mark.parametrize("trouble", ["lent", "in use", "for others", "two"])
def test_as_many_as_a_refusal_says_can_be_claimed_at_once(world: World, trouble: str) -> None:
    lease = lender(world, 3)
    offer = world.offer_part(lease, 2 if trouble == "two" else 3)
    if trouble == "lent":
        world.lend(lease, amount=1)
    elif trouble in ("in use", "two"):
        on(world, lease, "demo")
    else:
        world.restrict({"demo", "third"}, "cmp-02")
    for amount in (4, 3):
        error = refused(world, FewerOfferedError, partial(world.claim, offer, amount=amount))
        assert error.details == {"free": 2}
    assert len(world.holds(world.claim(offer, amount=2))) == 2
    if trouble == "for others":
        assert world.holds(world.claim(offer, caller=THIRD)) == {"cmp-02": 1}


def test_nothing_is_claimed_while_the_lender_misses_a_host(world: World) -> None:
    offer = world.offer_part(lender(world, 5))
    world.fail("cmp-06")
    run_for(world, minutes=1)
    assert refused(world, FewerOfferedError, lambda: world.claim(offer)).details == {"free": 0}
    world.recover("cmp-06")
    run_for(world, minutes=1)
    assert world.claim(offer).project_id == "alt"


def test_a_claim_begins_now_and_ends_within_the_offer(world: World) -> None:
    offer = world.offer_part(lender(world), end=3)
    refused(world, InvalidDateError, lambda: world.claim(offer, start=1))
    refused(world, InvalidDateError, lambda: world.claim(offer, start=-1))
    refused(world, InvalidDateError, lambda: world.claim(offer, end=0))
    refused(world, NotFreeInOfferError, lambda: world.claim(offer, end=3.5))
    refused(world, FewerOfferedError, lambda: world.claim(offer, amount=2))
    claimed = world.claim(offer, end=1)
    run_for(world, minutes=1)
    with pytest.raises(OutsideOfferError):
        world.amend(claimed, end=3.5)
    assert world.amend(claimed, end=2.5).window.end == world.hour(2.5)
    with pytest.raises(SubLeaseFixedError):
        world.amend(claimed, reservations=[{"id": claimed.reservations[0].id, "max": 2}])


def test_an_offer_of_one_resource_has_no_amount(world: World) -> None:
    world.give("demo", "cmp-01")
    offer = world.publish("cmp-01", 0, 4)
    refused(world, InvalidInputError, lambda: world.claim(offer, amount=2))
    assert world.holds(world.claim(offer, amount=1)) == {"cmp-01": 1}


def test_a_repeated_claim_is_made_once(world: World) -> None:
    offer = world.offer_part(lender(world), 2)
    first = world.claim(offer, key="one")
    assert world.claim(offer, key="one").id == first.id
    with pytest.raises(ConflictError):
        world.claim(offer, key="one", amount=2)
    # A dry run makes nothing, so it is not the request of that key.
    with pytest.raises(FewerOfferedError):
        world.claim(offer, key="one", amount=2, dry_run=True)
    assert world.claim(offer, key="one", dry_run=True).id != first.id


def test_a_dry_run_leaves_no_trace(world: World) -> None:
    offer = world.offer_part(lender(world), 2)
    before = dump(world.engine)
    would = world.claim(offer, end=2, dry_run=True)
    assert (would.project_id, would.window.end) == ("alt", world.hour(2))
    assert sum(len(part.allocations) for part in would.reservations) == 1
    assert dump(world.engine) == before
    with pytest.raises(FewerOfferedError):
        world.claim(offer, amount=3, dry_run=True)


def test_a_claim_counts_for_the_project_that_made_it(world: World) -> None:
    world = limited(world, open_leases=1)
    offer = world.offer_part(lender(world))
    world.lease(floating_ips(), start=0, end=1, caller=ALT)
    refused(world, TooManyLeasesError, lambda: world.claim(offer))
    assert world.claim(offer, caller=THIRD).project_id == "third"


# ---------------------------------------------------------------- how it ends


def test_deleting_an_offer_takes_back_what_was_claimed(world: World) -> None:
    lease = lender(world)
    offer = world.offer_part(lease)
    claimed = world.claim(offer)
    direct = world.lend(lease, "cmp-01", to="third")
    run_for(world, minutes=1)
    on(world, claimed)
    withdraw(world.service, offer.id, "demo")
    assert world.status(claimed) == "DELETING"
    run_for(world, minutes=5)
    assert not world.exists(claimed)
    assert (world.status(direct), world.holds(lease)) == ("ACTIVE", {"cmp-02": 1})
    with pytest.raises(NotFoundError):
        world.claim(offer)
    withdraw(world.service, offer.id, "demo")
    check(world)


@pytest.mark.parametrize("way", ["end", "delete"])
def test_the_end_of_the_lender_ends_its_offers(world: World, way: str) -> None:
    lease = lender(world)
    offer = world.offer_part(lease, 2)
    claimed = world.claim(offer)
    run_for(world, minutes=1)
    if way == "delete":
        world.delete(lease)
        assert now(world, offer).status(world.now()) == "error"
    else:
        run_until(world, world.hour(4))
        assert now(world, offer).status(world.now()) == "expired"
    refused(world, NotFoundError, lambda: world.claim(offer))
    assert world.free(offer) == []
    run_until(world, world.hour(4.5))
    assert not world.exists(claimed) or world.status(claimed) == "TERMINATED"
    assert (world.servers(), world.members("freepool")) == (set(), EVERYBODY)
    withdraw(world.service, offer.id, "demo")
    check(world)


def test_a_lender_that_ends_earlier_offers_less(world: World) -> None:
    lease = lender(world)
    offer, later = world.offer_part(lease), world.offer_part(lease, start=3)
    world.amend(lease, end=2)
    assert (world.free(offer)[0][1], world.free(later)) == (2, [])
    refused(world, NotFreeInOfferError, lambda: world.claim(offer, end=3))
    assert world.claim(offer).window.end == world.hour(2)
    with pytest.raises(LendingError):
        world.amend(lease, end=3)


def test_a_lender_that_gives_up_hosts_offers_fewer(world: World) -> None:
    lease = lender(world, 3)
    offer = world.offer_part(lease, 3)
    world.amend(lease, {"min": 1, "max": 1}, shrinks=True)
    assert left(world, offer) == 1
    refused(world, FewerOfferedError, lambda: world.claim(offer, amount=2))


def test_a_reservation_that_is_dropped_is_not_offered(world: World) -> None:
    lease = world.active(hosts(1), hosts(1), end=4)
    world.clock.advance(minutes=1)
    kept, dropped = (world.offer_part(lease, reservation_id=part.id) for part in lease.reservations)
    world.amend(lease, drops=frozenset({lease.reservations[1].id}))
    assert [now(world, each).status(world.now()) for each in (kept, dropped)] == ["available", "error"]
    assert [each.id for each in list_published(world.service, "alt")] == [kept.id]
    refused(world, NotFoundError, lambda: world.claim(dropped))


def test_a_lender_that_keeps_changing_asks_to_come_again(world: World) -> None:
    lease = lender(world)
    offer = world.offer_part(lease)

    class Restless(Database):
        def transact(self, work: Any) -> Any:
            world.amend(lease, name=str(uuid4()))
            return super().transact(work)

    busy = replace(world, service=replace(world.service, db=Restless(world.engine)))
    with pytest.raises(BusyError) as caught:
        busy.claim(offer)
    assert lease.id not in caught.value.message
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}


@pytest.mark.parametrize("what", ["withdraw", "delete"])
def test_nothing_is_lent_when_the_offer_or_its_lease_goes_meanwhile(world: World, what: str) -> None:
    lease = lender(world)
    offer = world.offer_part(lease)
    gone = (lambda: world.delete(lease)) if what == "delete" else lambda: withdraw(world.service, offer.id, "demo")
    with pytest.raises(NotFoundError) as caught:
        before_commit(world, gone).claim(offer)
    assert lease.id not in caught.value.message
    run_for(world, minutes=5)
    assert list_sub_leases(world.service, lease.id) == []
    check(world)


def test_of_two_claims_at_once_one_has_the_last_host(world: World) -> None:
    lease = lender(world, 3)
    offer = world.offer_part(lease)
    with pytest.raises(NotFreeInOfferError):
        before_commit(world, lambda: world.claim(offer, caller=THIRD)).claim(offer)
    assert [each.project_id for each in list_sub_leases(world.service, lease.id)] == ["third"]


@pytest.mark.parametrize("number", range(1, 12))
def test_a_manager_dies_while_what_was_claimed_starts_and_ends(world: World, number: int) -> None:
    lease = lender(world)
    offer = world.offer_part(lease, 2)
    claimed = world.claim(offer, end=1)
    dies_at(world, number, lambda: run_manager(world))
    run_for(world, minutes=10)
    assert (world.status(claimed), members(world, claimed)) == ("ACTIVE", {"cmp-02"})
    at_call(world, number, lambda: run_until(world, world.hour(1)), lambda: withdraw(world.service, offer.id, "demo"))
    run_for(world, minutes=10)
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    check(world)
