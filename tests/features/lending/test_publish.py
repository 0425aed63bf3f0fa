"""Features I2 and I3: an owner publishes a resource for a window, and others claim parts of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.features.lending.model import ClaimedError, OffersOverlapError, OutsideOfferError, TooManyPublishedError
from leasehold.features.lending.options import LendingSettings
from leasehold.features.lending.publish import get_published, list_published, publish, withdraw
from leasehold.features.lending.published_offer import Publication
from leasehold.features.owned_resource.use import end_lease
from leasehold.model.caller import Caller
from leasehold.model.errors import (
    InUseError,
    InvalidDateError,
    InvalidInputError,
    NotEnoughError,
    NotFoundError,
    NotFreeInOfferError,
    TooManyLeasesError,
)
from leasehold.model.resource import HOST
from tests.factory import ALT, DEMO, OPERATOR, floating_ips, hosts, remove_host, run_for, run_manager, run_until

if TYPE_CHECKING:
    from tests.factory import World

THIRD = Caller("carol", "third")
OTHERS = ("cmp-02", "cmp-06", "cmp-07", "gpu-03")


@pytest.fixture
def lent(world: World) -> World:
    """Return a world in which `cmp-01` belongs to `demo`."""
    world.give("demo", "cmp-01")
    return world


def statuses(world: World, project: str | None) -> list[str]:
    return [each.status(world.now()) for each in list_published(world.service, project)]


# ---------------------------------------------------------------- offers


def test_only_the_owner_publishes(lent: World) -> None:
    ident = lent.host("cmp-01").id
    wish = Publication("lent", HOST, ident, lent.hour(1), lent.hour(2))
    for stranger in (ALT, OPERATOR):
        with pytest.raises(NotFoundError):
            publish(lent.service, stranger, wish)
    assert publish(lent.service, OPERATOR, wish, is_admin=True).project_id == "demo"
    nobodys = Publication("lent", HOST, lent.host("cmp-02").id, lent.hour(1), lent.hour(2))
    with pytest.raises(NotFoundError):
        publish(lent.service, DEMO, nobodys)
    with pytest.raises(InvalidInputError, match="belongs to no project"):
        publish(lent.service, OPERATOR, nobodys, is_admin=True)
    for start, end in ((2, 2), (3, 2), (-2, -1)):
        with pytest.raises(InvalidDateError):
            lent.publish("cmp-01", start, end)


def test_offers_of_one_resource_do_not_overlap(lent: World) -> None:
    first = lent.publish("cmp-01", 2, 4)
    for start, end in ((1, 3), (3, 5), (1, 5), (2, 4), (2.5, 3)):
        with pytest.raises(OffersOverlapError, match=first.id) as refused:
            lent.publish("cmp-01", start, end)
        assert refused.value.details == {"published_offer": first.id}
    lent.publish("cmp-01", 4, 5)
    lent.publish("cmp-01", 1, 2)
    withdraw(lent.service, first.id, "demo")
    lent.publish("cmp-01", 2, 4)


def test_an_offer_that_is_over_is_in_no_ones_way(lent: World) -> None:
    """Nobody can claim what has passed, so it may overlap."""
    lent.publish("cmp-01", 0, 1)
    lent.clock.advance(hours=1)
    assert statuses(lent, "demo") == ["expired"]
    lent.publish("cmp-01", 0, 3)


def _having(world: World, limit: int) -> World:
    settings = world.service.settings.having(LendingSettings(published_offers=limit))
    return replace(world, service=replace(world.service, settings=settings))


def test_a_project_has_a_limited_number_of_offers(lent: World) -> None:
    lease = lent.active(hosts(), end=4)
    few = _having(lent, 2)
    first = few.publish("cmp-01", 5, 6)
    few.publish("cmp-01", 6, 7)
    with pytest.raises(TooManyPublishedError, match="2 published offers"):
        few.publish("cmp-01", 7, 8)
    with pytest.raises(TooManyPublishedError):
        few.offer_part(lease)
    few.give("third", "cmp-07")
    few.publish("cmp-07", 1, 2, caller=THIRD)
    withdraw(few.service, first.id, "demo")
    few.offer_part(lease, end=3)
    run_until(few, few.hour(3))
    few.publish("cmp-01", 7, 8)
    none = _having(lent, 0)
    with pytest.raises(TooManyPublishedError, match="switched off"):
        none.publish("cmp-01", 8, 9)


def test_a_status_follows_the_window_the_owner_and_the_resource(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 2)
    later = lent.publish("cmp-01", 3, 4)
    assert statuses(lent, "demo") == ["available", "available"]
    lent.give("third", "cmp-01")
    assert statuses(lent, "demo") == ["error", "error"]
    assert list_published(lent.service, "alt") == []
    assert lent.free(offer) == []
    lent.publish("cmp-01", 1, 5, caller=THIRD)
    with pytest.raises(NotFoundError):
        lent.claim(offer)
    run_for(lent, hours=2)
    withdraw(lent.service, later.id, "demo")
    assert statuses(lent, "demo") == ["expired", "available", "deleted"]
    assert statuses(lent, None) == ["expired", "available", "deleted"]


def test_a_removed_resource_is_not_offered(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 2)
    remove_host(lent.service, lent.host("cmp-01").id)
    assert statuses(lent, "demo") == ["error"]
    assert lent.free(offer) == []
    with pytest.raises(NotFoundError):
        lent.claim(offer)


def test_an_offer_for_one_project_is_not_there_for_others(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 2, for_project="alt")
    for project in ("demo", "alt", None):
        assert get_published(lent.service, offer.id, project).id == offer.id
    assert list_published(lent.service, "third") == []
    with pytest.raises(NotFoundError):
        get_published(lent.service, offer.id, "third")
    with pytest.raises(NotFoundError):
        lent.claim(offer, caller=THIRD)
    for stranger in ("alt", "third"):
        with pytest.raises(NotFoundError):
            withdraw(lent.service, offer.id, stranger)
    assert lent.claim(offer).project_id == "alt"


# ---------------------------------------------------------------- claims


def test_a_claim_is_a_lease_of_that_resource_alone(lent: World) -> None:
    offer = lent.publish("cmp-01", 1, 4)
    claimed = lent.claim(offer, 1, 2)
    assert (claimed.project_id, claimed.published_offer) == ("alt", offer.id)
    assert lent.holds(claimed) == {"cmp-01": 1}
    assert lent.get(claimed).published_offer == offer.id
    # The host is open for this lease, and for no other one of the project.
    with pytest.raises(NotEnoughError, match="4 enrolled"):
        lent.lease(hosts(5), start=2, end=3, caller=ALT)
    run_for(lent, hours=1, minutes=1)
    assert lent.status(claimed) == "ACTIVE"
    run_for(lent, hours=1)
    assert lent.status(claimed) == "TERMINATED"


def test_a_claim_begins_now_and_ends_with_what_is_free(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 6)
    lent.lease(hosts(5), start=2, end=3, caller=DEMO)
    assert lent.free(offer) == [(0, 2), (3, 6)]
    first = lent.claim(offer)
    assert (first.window.start, first.window.end) == (lent.hour(0), lent.hour(2))
    second = lent.claim(offer, start=4, caller=THIRD)
    assert (second.window.start, second.window.end) == (lent.hour(4), lent.hour(6))
    third = lent.claim(offer, start=3)
    assert third.window.end == lent.hour(4)
    assert lent.free(offer) == []
    with pytest.raises(NotFreeInOfferError, match="nothing of it is free"):
        lent.claim(offer)
    ahead = lent.publish("cmp-01", 7, 8)
    assert lent.claim(ahead).window.start == lent.hour(7)


def test_what_is_not_free_is_refused_with_what_is(lent: World) -> None:
    offer = lent.publish("cmp-01", 1, 4)
    lent.claim(offer, 2, 3)
    for start, end in ((0.5, 2), (1, 2.5), (2.5, 3), (3, 4.5), (5, 6), (1, 4), (2, None), (6, None)):
        with pytest.raises(NotFreeInOfferError, match="T10:00:00") as refused:
            lent.claim(offer, start, end)
        free = refused.value.details["free"]
        assert [each["start_date"][11:16] for each in free] == ["10:00", "12:00"]
    assert len(lent.holds(lent.claim(offer, 3, 4))) == 1


def test_nobody_moves_for_a_claim_nor_does_one_move(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 10)
    lent.restrict(["nobody"], *OTHERS)
    own = lent.lease(hosts(1), start=3, end=4, caller=DEMO)
    assert lent.holds(own) == {"cmp-01": 1}
    lent.restrict(["demo", "alt"], "gpu-03")
    with pytest.raises(NotFreeInOfferError):
        lent.claim(offer, 3, 4)
    claimed = lent.claim(offer, 5, 6)
    lent.lease(hosts(1), start=5, end=6, caller=DEMO)
    # On gpu-03 the claim would make room.
    with pytest.raises(NotEnoughError):
        lent.lease(hosts(1), start=5, end=6, caller=DEMO)
    assert lent.holds(claimed) == {"cmp-01": 1}


def test_a_disabled_or_failed_resource_is_not_free(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 10)
    lent.disable("cmp-01")
    assert lent.free(offer) == []
    with pytest.raises(NotFreeInOfferError):
        lent.claim(offer)
    lent.enable("cmp-01")
    lent.fail("cmp-01")
    assert lent.free(offer) == []
    lent.recover("cmp-01")
    assert lent.free(offer) == [(0, 10)]


def test_cleaning_times_are_not_free(lent: World) -> None:
    clean = lent.with_settings(leases=LeaseSettings(cleaning_time=timedelta(minutes=30)))
    offer = clean.publish("cmp-01", 1, 10)
    clean.claim(offer, 3, 4)
    assert clean.free(offer) == [(1, 2.5), (4.5, 10)]
    with pytest.raises(NotFreeInOfferError):
        clean.claim(offer, 4.25, 5)
    clean.claim(offer, 4.5, 5)
    clean.engine.dispose()


def test_lead_times_are_not_free(lent: World) -> None:
    early = lent.with_settings(leases=LeaseSettings(lead_time_by_type={HOST: timedelta(minutes=30)}))
    offer = early.publish("cmp-01", 1, 10)
    early.claim(offer, 3, 4)
    assert early.free(offer) == [(1, 2.5), (4.5, 10)]
    with pytest.raises(NotFreeInOfferError):
        early.claim(offer, 4.25, 5)
    early.claim(offer, 1, 2.5)
    early.claim(offer, 4.5, 5)
    early.engine.dispose()


def test_a_claim_counts_to_the_limits_of_its_project(lent: World) -> None:
    few = lent.with_settings(leases=LeaseSettings(limits=LimitSettings(open_leases=1)))
    offer = few.publish("cmp-01", 1, 10)
    few.claim(offer, 1, 2)
    with pytest.raises(TooManyLeasesError):
        few.claim(offer, 3, 4)
    assert few.claim(offer, 3, 4, caller=THIRD).project_id == "third"
    few.engine.dispose()


def test_what_a_held_offer_held_is_free_when_it_lapses(lent: World) -> None:
    """Without a manager that releases it."""
    offer = lent.publish("cmp-01", 0, 10)
    lent.lease(hosts(5), start=1, end=2, hold=timedelta(minutes=5))
    with pytest.raises(NotFreeInOfferError):
        lent.claim(offer, 1, 2)
    lent.clock.advance(minutes=6)
    assert lent.holds(lent.claim(offer, 1, 2)) == {"cmp-01": 1}


def test_a_repeated_key_gives_the_same_lease(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 10)
    first = lent.claim(offer, key="once")
    assert lent.claim(offer, key="once").id == first.id
    tried = lent.publish("cmp-01", 20, 22)
    assert lent.claim(tried, dry_run=True).window.end == lent.hour(22)
    with pytest.raises(InvalidDateError):
        lent.claim(tried, start=-1)
    assert lent.free(tried) == [(20, 22)]
    lent.give("third", "cmp-01")
    assert lent.claim(offer, key="once").id == first.id


def test_a_claim_is_amended_within_the_offer_and_keeps_its_resource(lent: World) -> None:
    offer = lent.publish("cmp-01", 1, 6)
    claimed = lent.claim(offer, 2, 3)
    other = lent.claim(offer, 5, 6, caller=THIRD)
    assert lent.holds(lent.amend(claimed, end=4)) == {"cmp-01": 1}
    for dates in ({"end": 7}, {"start": 0.5}):
        with pytest.raises(OutsideOfferError):
            lent.amend(claimed, **dates)
    with pytest.raises((NotEnoughError, InUseError)):
        lent.amend(claimed, end=5.5)
    for part in ({"min": 1, "max": 2}, {"resource_properties": '["==", "$vcpus", "1"]'}):
        with pytest.raises(ClaimedError):
            lent.amend(claimed, part)
    with pytest.raises(ClaimedError):
        lent.swap(claimed, host="cmp-01")
    assert lent.amend(claimed, name="mine").name == "mine"
    lent.delete(other)
    assert lent.holds(lent.amend(claimed, start=1, end=6)) == {"cmp-01": 1}
    lent.give("third", "cmp-01")
    assert lent.holds(lent.amend(claimed, end=3)) == {"cmp-01": 1}
    with pytest.raises(OutsideOfferError, match="not available any more"):
        lent.amend(claimed, end=4)


def test_an_active_claim_is_extended_within_the_offer(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 6)
    claimed = lent.claim(offer, 0, 1)
    run_manager(lent)
    assert lent.status(claimed) == "ACTIVE"
    assert lent.holds(lent.amend(claimed, end=6)) == {"cmp-01": 1}
    with pytest.raises(OutsideOfferError):
        lent.amend(claimed, end=6.5)


def test_healing_gives_a_claim_what_its_project_may_have(lent: World) -> None:
    lent.give("third", "cmp-02")
    lent.restrict(["nobody"], "cmp-06", "cmp-07", "gpu-03")
    claimed = lent.claim(lent.publish("cmp-01", 0, 6))
    run_manager(lent)
    lent.fail("cmp-01")
    run_for(lent, minutes=5)
    assert lent.holds(claimed).keys() <= {"cmp-01"}
    assert lent.part(claimed).missing_resources
    lent.restrict(None, "gpu-03")
    lent.heal()
    assert set(lent.holds(claimed)) == {"gpu-03"}


@pytest.mark.parametrize("first", [0, 0.5])
def test_a_claim_has_its_resource_again_as_soon_as_it_works(lent: World, first: float) -> None:
    lent.restrict(["nobody"], *OTHERS)
    claimed = lent.claim(lent.publish("cmp-01", 0, 6), first, 5)
    run_for(lent, minutes=1)
    lent.fail("cmp-01")
    run_for(lent, minutes=10)
    assert lent.part(claimed).missing_resources
    lent.give("third", "cmp-01")
    lent.recover("cmp-01")
    run_for(lent, minutes=5)
    # What does not belong to the owner of the offer any more is not lent any more.
    assert lent.part(claimed).missing_resources
    lent.give("demo", "cmp-01")
    lent.heal()
    run_for(lent, minutes=30)
    assert (lent.holds(claimed), lent.part(claimed).missing_resources) == ({"cmp-01": 1}, False)
    # It is open for what was claimed, and for nothing else of the project.
    with pytest.raises(NotEnoughError):
        lent.lease(hosts(1), start=5, end=6, caller=ALT)


def test_deleting_an_offer_deletes_its_leases(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 6)
    over = lent.claim(offer, 0, 1)
    run_for(lent, hours=1, minutes=5)
    active, pending = lent.claim(offer, None, 2), lent.claim(offer, 3, 4, caller=THIRD)
    own = lent.lease(hosts(5), start=4, end=5)
    run_manager(lent)
    assert lent.status(active) == "ACTIVE"
    withdraw(lent.service, offer.id, "demo")
    withdraw(lent.service, offer.id, "demo")
    assert not lent.exists(pending)
    run_manager(lent)
    assert [lent.exists(each) for each in (over, active, own)] == [True, False, True]
    with pytest.raises(NotFoundError):
        lent.claim(offer)


def test_a_former_owner_ends_no_lease_by_deleting_its_offer(lent: World) -> None:
    offer = lent.publish("cmp-01", 0, 6)
    claimed = lent.claim(offer, 1, 2)
    lent.give("third", "cmp-01")
    withdraw(lent.service, offer.id, "demo")
    assert statuses(lent, "demo") == ["deleted"]
    assert lent.holds(claimed) == {"cmp-01": 1}
    with pytest.raises(NotFoundError):
        end_lease(lent.service, "demo", claimed.id)
    end_lease(lent.service, "third", claimed.id)
    assert not lent.exists(claimed)


def test_an_address_is_offered_too(lent: World) -> None:
    (address,) = lent.holds(lent.lease(floating_ips(1), start=8, end=9))
    lent.give("demo", address)
    offer = lent.publish(address, 0, 4)
    claimed = lent.claim(offer, 1, 2)
    assert lent.holds(claimed) == {address: 1}
    assert lent.free(offer) == [(0, 1), (2, 4)]
    assert lent.holds(lent.amend(claimed, end=3)) == {address: 1}
    with pytest.raises(ClaimedError):
        lent.amend(claimed, {"amount": 2})
