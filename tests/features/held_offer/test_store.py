"""Offers among several processes, on each database: one is accepted once or lapses, whatever their clocks say."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings, Settings
from leasehold.db.leases.held_offer import count_open_offers, lapsed_offers
from leasehold.features.held_offer.model import OfferOverError
from leasehold.features.held_offer.use import accept_offer, get_offer, give_up_offer, make_offer
from leasehold.leasing.lapse import release_late
from leasehold.model.draft import LeaseDraft
from tests.db.examples import outcomes_at_once
from tests.factory import ALT, DEMO, Clock, hosts, make_service, open_service
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOLD = timedelta(minutes=5)
ROUNDS = 4


@pytest.fixture
def worlds(database_url: str) -> Iterator[list[World]]:
    """Return two processes of one service with one host; the clock of the second is just after the hold's end."""
    settings = Settings(leases=LeaseSettings(limits=LimitSettings(offers=1)))
    with make_service(database_url, hosts=("cmp-01",)) as made:
        url = made.engine.url.render_as_string(hide_password=False)
        world = made.with_settings(leases=settings.leases)
        other = open_service(url, clock=Clock(world.now() + HOLD), settings=settings)
        yield [world, other]
        other.engine.dispose()
        world.engine.dispose()


def offer(world: World, hour: int) -> Lease:
    draft = LeaseDraft("offered", world.hour(hour), world.hour(hour + 1), reservations=(hosts(),), hold=HOLD)
    return make_offer(world.service, DEMO, draft)


def test_one_process_accepts_what_has_lapsed_for_the_other(worlds: list[World]) -> None:
    """Who comes first decides for both, so the host is never promised twice."""
    early, late = worlds
    for hour in range(1, ROUNDS + 1):
        made = offer(early, hour)
        found = outcomes_at_once(
            lambda ident=made.id: accept_offer(early.service, ident),  # type: ignore[misc]
            lambda hour=hour: late.lease(hosts(), start=hour, end=hour + 1, caller=ALT),  # type: ignore[misc]
        )
        assert found in (["done", "leasehold.resources.not_enough"], ["leasehold.offer.over", "done"])
        audit(late)
        if found[0] != "done":
            with pytest.raises(OfferOverError):
                accept_offer(early.service, made.id)


def test_two_accept_the_same_offer_and_get_one_lease(worlds: list[World]) -> None:
    early, _ = worlds
    url = early.engine.url.render_as_string(hide_password=False)
    beside = open_service(url, clock=early.clock)
    made = offer(early, 1)
    works = [lambda each=each: accept_offer(each.service, made.id) for each in (early, beside)]
    assert outcomes_at_once(*works) == ["done", "done"]
    assert (early.status(made), early.told(made)) == ("PENDING", [("lease.create", "PENDING")])
    beside.engine.dispose()


def test_accept_and_give_up_at_once(worlds: list[World]) -> None:
    early, _ = worlds
    made = offer(early, 1)
    found = outcomes_at_once(
        lambda: accept_offer(early.service, made.id), lambda: give_up_offer(early.service, made.id)
    )
    assert found in (["done", "leasehold.offer.accepted"], ["leasehold.offer.over", "done"])
    audit(early)


def test_two_offers_at_once_do_not_exceed_the_limit(worlds: list[World]) -> None:
    early, _ = worlds
    nothing = LeaseDraft("offered", early.hour(1), early.hour(2), hold=HOLD)
    found = outcomes_at_once(*[lambda: make_offer(early.service, DEMO, nothing)] * 2)
    assert sorted(found) == ["done", "leasehold.offers.too_many"]


def test_what_is_read_of_offers(worlds: list[World]) -> None:
    early, late = worlds
    made = offer(early, 1)
    with early.service.db.reading() as connection:
        assert count_open_offers(connection, "demo", early.now()) == 1
        assert count_open_offers(connection, "alt", early.now()) == 0
        assert count_open_offers(connection, "demo", late.now()) == 0
        assert list(lapsed_offers(connection, early.now())) == []
        assert list(lapsed_offers(connection, late.now())) == [made.id]
    assert made.offered_until == early.now() + HOLD
    assert get_offer(late.service, made.id) == made
    assert not release_late(early.service)
    assert release_late(late.service)
    assert not release_late(late.service)
    over = get_offer(early.service, made.id)
    assert over.deleted_at == late.now()
    assert all(held.released_at for held in over.reservations[0].allocations)
