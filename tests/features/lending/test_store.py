"""Published offers and claims among several processes, on each database: one offer at a time, and one lease."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold.db.past.history import purge
from leasehold.features.lending.options import LendingSettings
from leasehold.features.lending.publish import list_published, withdraw
from tests.db.examples import outcomes_at_once
from tests.factory import ALT, DEMO, hosts, make_service, open_service
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.factory import World

pytestmark = pytest.mark.slow

ROUNDS = 4


@pytest.fixture
def worlds(database_url: str) -> Iterator[list[World]]:
    """Return three processes of one service, with one host that `demo` owns."""
    with make_service(database_url, hosts=("cmp-01",)) as made:
        made.give("demo", "cmp-01")
        url = made.engine.url.render_as_string(hide_password=False)
        others = [open_service(url, clock=made.clock) for _ in range(2)]
        yield [made, *others]
        for each in others:
            each.engine.dispose()


def test_one_of_several_overlapping_offers_is_published(worlds: list[World]) -> None:
    for day in range(1, ROUNDS + 1):
        works = [
            lambda world=world, first=first: world.publish("cmp-01", first, first + 3)
            for first, world in enumerate(worlds, 24 * day)
        ]
        assert sorted(outcomes_at_once(*works)) == ["done", *["leasehold.published_offer.overlaps"] * 2]
    assert len(list_published(worlds[0].service, "demo")) == ROUNDS


def test_no_more_is_published_than_a_project_may_have(worlds: list[World]) -> None:
    strict = worlds[0].service.settings.having(LendingSettings(published_offers=1))
    few = [replace(each, service=replace(each.service, settings=strict)) for each in worlds]
    works = [partial(world.publish, "cmp-01", first, first + 1) for first, world in enumerate(few, 2)]
    assert sorted(outcomes_at_once(*works)) == ["done", *["leasehold.published_offers.too_many"] * 2]


def test_one_of_several_claims_of_the_same_time_is_granted(worlds: list[World]) -> None:
    """The owner's own lease is one of them."""
    first, second, third = worlds
    offer = first.publish("cmp-01", 1, 20)
    for hour in range(1, ROUNDS + 1):
        found = outcomes_at_once(
            lambda hour=hour: first.claim(offer, hour, hour + 1, caller=ALT),  # type: ignore[misc]
            lambda hour=hour: second.claim(offer, hour, hour + 1, caller=DEMO),  # type: ignore[misc]
            lambda hour=hour: third.lease(hosts(), start=hour, end=hour + 1, caller=DEMO),  # type: ignore[misc]
        )
        assert found.count("done") == 1
        assert set(found) <= {"done", "leasehold.published_offer.not_free", "leasehold.resources.not_enough"}
        audit(first)
    assert first.free(offer) == [(ROUNDS + 1, 20)]


def test_no_lease_is_made_of_an_offer_that_is_deleted_meanwhile(worlds: list[World]) -> None:
    first, second, third = worlds
    for day in range(1, ROUNDS + 1):
        offer = first.publish("cmp-01", 24 * day, 24 * day + 4)
        outcomes_at_once(
            lambda offer=offer, day=day: second.claim(offer, 24 * day, 24 * day + 1),  # type: ignore[misc]
            lambda offer=offer: withdraw(first.service, offer.id, "demo"),  # type: ignore[misc]
            lambda offer=offer, day=day: third.claim(offer, 24 * day + 2, 24 * day + 3),  # type: ignore[misc]
        )
        assert first.lease(hosts(), start=24 * day, end=24 * day + 4)
        audit(first)


def test_what_was_over_long_ago_is_purged(worlds: list[World]) -> None:
    world, *_ = worlds
    for start, end in ((1, 2), (30, 60)):
        world.publish("cmp-01", start, end)
    claimed = world.claim(list_published(world.service, "demo")[1], 30, 31)
    deleted = world.publish("cmp-01", 70, 80)
    withdraw(world.service, deleted.id, "demo")
    for dry_run in (True, False):
        counts = purge(world.engine, world.hour(40), timedelta(days=1), dry_run=dry_run)
        assert counts["published_offers"] == 2
    (left,) = list_published(world.service, "demo")
    assert left.id == world.get(claimed).published_offer
