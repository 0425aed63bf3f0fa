"""What fillers cost: charged once with the period, at a share of the price, and to no budget (decision 0160)."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import delete, select

from leasehold.features.price import closing
from leasehold.features.price.budget import from_micro
from leasehold.features.price.charge_store import CLOSED, charge_of, charged_until
from leasehold.features.price.closing import close
from leasehold.features.price.correcting import Correction, correct
from leasehold.features.price.focus import COLUMNS, Billed, focus_row
from leasehold.features.price.model import PriceList, Prices, Rates, Rule, TimeFactor
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import charged, charges
from leasehold.features.usage.follow import follow
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.properties import parse
from tests.factory import AT_ONCE, START, Killed, hosts, make_service
from tests.features.filler.site import MEMBER, USUAL, Site
from tests.features.price.focus import check_row
from tests.features.price.prices import HOURS, budget, left

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Row

UTC = ZoneInfo("UTC")
GPU = parse('["==", "$gpu", "A100"]', "properties")
RULES = (
    Rule("physical:host", Rates(hour=Decimal(8), filler=Decimal(1)), condition=GPU),
    Rule("physical:host", Rates(hour=Decimal(2), flat=Decimal(5), filler=Decimal("0.25"))),
)
NOON = START + 3 * HOURS
LISTS = (
    PriceList("now", START - 9 * HOURS, START + HOURS, UTC, RULES, (TimeFactor(("mon-sun 12:00-20:00",), Decimal(2)),)),
    PriceList("later", START + HOURS, None, UTC, (Rule("physical:host", Rates(hour=Decimal(100))),)),
)
PRICES = Prices("EUR", 2, LISTS)
PRICED = AT_ONCE.having(USUAL).having(PriceSettings(PRICES, timedelta(hours=3)))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    """Return a service with a plain host and one with a card."""
    with make_service(tmp_path, settings=PRICED, hosts=("cmp-01",)) as world:
        world.enrol("cmp-05", gpu="A100")
        # As a manager does at its start.
        close(world.service)
        yield Site(world)


def closed(here: Site) -> int:
    sequence_events(here.world.service)
    follow(here.world.service)
    return close(here.world.service)


def rows(here: Site) -> list[Row[Any]]:
    with here.world.service.db.reading() as connection:
        return list(connection.execute(select(charges).order_by(charges.c.id)))


def hours(start: datetime, end: datetime) -> Decimal:
    """Return hours as a charge counts them: between whole seconds."""
    return Decimal(int(end.timestamp()) - int(start.timestamp())) / 3600


def test_each_host_costs_a_share_from_when_it_is_there_until_it_has_to_go(here: Site) -> None:
    filler, world = here.active(2), here.world
    spring = budget(world, "100", project_id=MEMBER.project_id)
    here.run_until(world.hour(2))
    world.lease(hosts(2), start=4, end=5)
    here.run_until(world.hour(6.5))
    assert closed(here) == int(world.hour(6).timestamp())
    found = [each for each in rows(here) if each.kind == "filler"]
    assert {each.lease_id for each in found} == {filler.id}
    owner = {(each.project_id, each.user_id, each.resource_type, each.units) for each in found}
    assert owner == {(MEMBER.project_id, MEMBER.user_id, "physical:host", 1)}
    for host in here.hosts(filler):
        assert host.arrived_at is not None
        assert host.leaves_at is not None
        assert NOON < host.leaves_at < world.hour(4)
        # The list of the grant counts; from noon on twice.
        share = Decimal(8) if world.host("cmp-05").number == host.resource_number else Decimal("0.5")
        cost = share * hours(host.arrived_at, NOON) + 2 * share * hours(NOON, host.leaves_at)
        mine = sum(from_micro(each.amount) for each in found if each.reservation_id == host.id)
        assert abs(mine - cost) < Decimal("0.00001")
    assert left(world, spring) == "100.00"


def test_it_is_charged_once_whoever_is_killed_and_goes_on_in_the_next_period(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.active(1)
    here.run_until(here.world.hour(3.5))
    with monkeypatch.context() as patch:

        def killed(*_: object) -> None:
            raise Killed

        patch.setattr(closing, "add_charges", killed)
        with pytest.raises(Killed):
            closed(here)
    with here.world.service.db.reading() as connection:
        assert (rows(here), charged_until(connection, CLOSED)) == ([], int(here.world.hour(-3).timestamp()))
    closed(here)
    closed(here)
    (first,) = rows(here)
    here.run_until(here.world.hour(6.5))
    closed(here)
    (again, second) = rows(here)
    assert (again.id, first.ends_at) == (first.id, second.starts_at)
    assert (second.ends_at - second.starts_at, second.amount) == (3 * 3600, 2 * 3 * 500_000)


def test_what_was_before_there_were_prices_stays_free(here: Site) -> None:
    here.world.execute(delete(charged))
    here.active(1)
    here.run_until(here.world.hour(3.5))
    closed(here)
    assert rows(here) == []
    here.run_until(here.world.hour(6.5))
    closed(here)
    (row,) = rows(here)
    assert (row.starts_at, row.ends_at) == tuple(int(here.world.hour(each).timestamp()) for each in (3, 6))


def test_a_correction_gives_no_budget_what_it_never_paid(here: Site) -> None:
    here.active(1)
    here.run_until(here.world.hour(3.5))
    closed(here)
    spring = budget(here.world, "100", project_id=MEMBER.project_id)
    (row,) = rows(here)
    made = correct(here.world.service, Correction(row.id, -row.amount, "The host had no network."))
    assert (made.amount, made.beside) == (-row.amount, 0)
    assert left(here.world, spring) == "100.00"


def test_its_row_of_focus_has_no_reservation(here: Site) -> None:
    filler = here.active(1)
    here.run_until(here.world.hour(3.5))
    closed(here)
    (row,) = rows(here)
    whose = (row.lease_id, row.project_id, row.user_id, row.resource_type)
    shown = focus_row(Billed(charge_of(row), row.amount, *whose, "hosts", "hosts"), PRICES, ("EUR", Decimal(1)), "one")
    check_row({name: "" if shown[name] is None else str(shown[name]) for name in COLUMNS})
    assert (shown["CapacityReservationId"], shown["CapacityReservationStatus"]) == (None, None)
    assert (shown["ResourceId"], shown["ResourceType"]) == (filler.id, "Filler")
