"""What is agreed about leases when they are made, amended, moved and given up, as the database has it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from leasehold.features.held_offer.use import accept_offer, give_up_offer
from leasehold.features.price.budget import TooLongToPriceError
from leasehold.features.price.model import Prices, TimeFactor
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.shown import FIELDS
from leasehold.features.price.store import find_agreement
from leasehold.features.price.use import settle
from leasehold.leasing.amend import try_amendment
from leasehold.leasing.create import try_creation
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.reading.queries import get_lease
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.errors import NotEnoughError
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import OPEN_END
from tests.factory import AT_ONCE, DEMO, START, hosts, instances, make_service, run_for, run_until
from tests.features.price.prices import HOURS, NOW, PRICED, agreed, amended, cost

if TYPE_CHECKING:
    from pathlib import Path

    from tests.factory import World


def test_a_lease_is_agreed_at_the_price_of_each_thing_that_it_gets(world: World) -> None:
    assert cost(world, world.lease(hosts(2), start=1, end=3)) == "18.00"
    gpu = hosts(1, resource_properties='["==", "$gpu", "A100"]')
    assert cost(world, world.lease(gpu, instances(2, vcpus=2), start=1, end=3)) == "18.00"


def test_an_extension_has_the_price_of_its_own_moment(world: World) -> None:
    lease = world.active(hosts(1), start=0, end=5)
    assert cost(world, lease) == "15.00"
    run_until(world, START + 4 * HOURS)
    longer = amended(world, lease, end=8)
    # It begins in an hour, which is notice enough.
    assert cost(world, longer) == "24.00"
    assert [each.tariff.list_name for each in agreed(world, lease).lines] == ["now", "later"]


def test_more_hosts_cost_more_from_now_on_and_fewer_less(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=3)
    more = amended(world, lease, {"min": 3, "max": 3})
    assert cost(world, more) == "27.00"
    # What is given up costs half of it, and what was paid at once is not given back.
    assert cost(world, amended(world, more, {"min": 1, "max": 1})) == "23.00"


def test_what_is_given_up_costs_its_share(world: World) -> None:
    lease = world.active(hosts(1), start=0, end=5)
    run_until(world, START + 2 * HOURS)
    delete_lease(world.service, lease.id)
    assert cost(world, lease) == "12.00"
    pending = world.lease(hosts(1), start=3, end=5)
    delete_lease(world.service, pending.id)
    assert cost(world, pending) == "7.00"


def test_who_ends_a_lease_now_pays_as_who_deletes_it(world: World) -> None:
    lease = world.active(hosts(1), start=0, end=5)
    run_until(world, START + 2 * HOURS)
    amended(world, lease, end=2)
    run_for(world, minutes=5)
    assert cost(world, lease) == "12.00"


def test_a_lease_that_waits_is_agreed_when_it_is_granted(world: World) -> None:
    first = world.lease(hosts(4, 4), start=0, end=1)
    waiting = world.lease(hosts(1), start=0, end=3, type=LeaseType.WAITLIST, deadline=world.hour(2))
    with world.service.db.reading() as connection:
        assert find_agreement(connection, waiting.id) is None
    delete_lease(world.service, first.id)
    run_for(world, minutes=1)
    assert agreed(world, waiting).lines


def test_a_name_changes_no_price(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=3)
    before = agreed(world, lease)
    run_until(world, START + 0.5 * HOURS)
    amended(world, lease, name="another")
    assert agreed(world, lease) == before


def test_what_was_promised_without_prices_stays_free(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01"]) as world:
        lease = world.lease(hosts(1), start=0, end=2)
        priced = world.with_settings(features=PRICED.features)
        tried = FIELDS[0].tried
        assert tried is not None
        would_be = try_amendment(priced.service, lease.id, LeaseChanges(end=world.hour(4)))
        assert tried(priced.service)(would_be)["total"] == "4.00"
        longer = amended(priced, lease, end=4)
        assert cost(priced, longer) == "4.00"
        priced.engine.dispose()


def test_a_lease_that_nobody_used_is_settled_after_it_was_ended(world: World) -> None:
    lease = world.active(hosts(1), start=0, end=5)
    unused = world.active({**hosts(1), "no_show_seconds": 600}, start=0, end=5)
    run_for(world, minutes=15)
    assert get_lease(world.service, unused.id).status is LeaseStatus.TERMINATED
    before = agreed(world, lease), agreed(world, unused)
    assert settle(world.service) == 1
    assert agreed(world, lease) == before[0]
    assert agreed(world, unused).lines[-1].window.end == world.now().replace(microsecond=0)
    assert agreed(world, unused).given_up
    assert settle(world.service) == 0


def test_an_offer_that_is_given_up_costs_nothing_but_a_lease_made_of_one_does(world: World) -> None:
    offer = world.lease(hosts(1), start=1, end=3, hold=HOURS / 12)
    assert cost(world, offer) == "9.00"
    give_up_offer(world.service, offer.id)
    assert cost(world, offer) == "5.00"
    taken = world.lease(hosts(1), start=1, end=3, hold=HOURS / 12)
    accept_offer(world.service, taken.id)
    delete_lease(world.service, taken.id)
    assert cost(world, taken) == "7.00"


def test_a_lease_without_an_end_costs_what_has_passed(world: World) -> None:
    endless = replace(world.service.settings.leases, open_ended=720 * HOURS)
    world = world.with_settings(leases=endless)
    lease = amended(world, world.lease(hosts(1), start=0, end=1), end=OPEN_END, open_ended=True)
    run_until(world, START + 2 * HOURS)
    shown = FIELDS[0].make(world.service)(lease)
    assert shown == {"unit": "EUR", "total": None, "passed": "9.00", "more": None}
    world.engine.dispose()


def test_a_lease_at_prices_by_the_hour_of_the_week_is_not_too_long(tmp_path: Path) -> None:
    times = (TimeFactor(("mon-fri 08:00-18:00",), Decimal(2)),)
    by_hour = PriceSettings(Prices("EUR", 2, (replace(NOW, times=times),)))
    with make_service(tmp_path, settings=AT_ONCE.having(by_hour), hosts=["cmp-01"]) as world:
        with pytest.raises(TooLongToPriceError, match="its lease may last 1098 days at most"):
            world.lease(hosts(1), start=0, end=24 * 1099)
        assert agreed(world, world.lease(hosts(1), start=0, end=24 * 1098)).lines


def test_what_is_only_tried_or_refused_agrees_to_nothing(world: World) -> None:
    draft = LeaseDraft("lease", world.hour(0), world.hour(1), reservations=(hosts(2),))
    tried = try_creation(world.service, DEMO, draft)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(9, 9))
    with world.service.db.reading() as connection:
        assert find_agreement(connection, tried.id) is None
