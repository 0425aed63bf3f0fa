"""Closing periods on real leases: what was used, late and missing is charged once, and budgets get back the rest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from leasehold.features.flexible.moving import move_all
from leasehold.features.price import closing
from leasehold.features.price.beyond import beyond_budgets
from leasehold.features.price.budget import AtEnd, from_micro
from leasehold.features.price.charge_store import CLOSED, charged_until, save_charged
from leasehold.features.price.closing import close
from leasehold.features.price.correcting import Correction, correct
from leasehold.features.price.model import PriceList, Prices, Rates, Rule
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import charges
from leasehold.features.price.use import ALL, BudgetChanges, amend_budget, charged, recount
from leasehold.features.usage.follow import follow
from leasehold.features.usage.poll import poll
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.errors import InvalidInputError
from leasehold.model.windows import to_seconds
from tests.at_once import first_commit_held
from tests.factory import AT_ONCE, START, Killed, hosts, instances, make_service, run_until
from tests.features.flexible.making import at, flexible
from tests.features.price.prices import HOURS, amended, budget, cost, left

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

RULES = (
    Rule("physical:host", Rates(hour=Decimal(2), used=Decimal("1.5"), flat=Decimal(5), given_up=Decimal("0.5"))),
    Rule("virtual:instance", Rates(vcpu_hour=Decimal("0.25"), used=Decimal("0.5"))),
)
LIST = PriceList("2031", START - 9 * HOURS, None, ZoneInfo("UTC"), RULES)
PRICED = AT_ONCE.having(PriceSettings(Prices("EUR", 2, (LIST,)), timedelta(hours=3)))
NAMES = ("cmp-01", "cmp-02", "cmp-05", "cmp-06")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, settings=PRICED, hosts=NAMES) as world:
        yield world


def live_until(world: World, hour: float) -> None:
    """Let the time go by with a poll every five minutes."""
    while world.now() < world.hour(hour):
        poll(world.service)
        run_until(world, min(world.hour(hour), world.now() + timedelta(minutes=5)))


def closed(world: World) -> float:
    """Account for all that has happened, close, and return until which hour that is done."""
    sequence_events(world.service)
    follow(world.service)
    return closes(world)


def closes(world: World) -> float:
    return (close(world.service) - to_seconds(world.hour(0))) / 3600


def rows(world: World, about: Lease | None = None) -> list[tuple[str, int, float, float, str]]:
    """Return what was charged: the kind, units, begin and end in hours, and the amount."""
    start = to_seconds(world.hour(0))
    with world.service.db.reading() as connection:
        found = [dict(row._mapping) for row in connection.execute(select(charges).order_by(charges.c.id))]
    return sorted(
        (
            row["kind"],
            row["units"],
            (row["starts_at"] - start) / 3600,
            (row["ends_at"] - start) / 3600,
            f"{from_micro(row['amount']):.2f}",
        )
        for row in found
        if about is None or row["lease_id"] == about.id
    )


def total(world: World) -> Decimal:
    with world.service.db.reading() as connection:
        return from_micro(sum(connection.execute(select(charges.c.amount)).scalars()))


def test_what_is_used_and_what_is_not_is_charged_in_periods_of_its_own(world: World) -> None:
    spring = budget(world, "100")
    lease = world.active(hosts(), end=5)
    # Five at once, and five hours at two, times one and a half.
    assert (cost(world, lease), left(world, spring)) == ("20.00", "80.00")
    server = world.boot(lease)
    live_until(world, 4)
    world.cloud.servers.delete(server.id)
    live_until(world, 6.5)
    assert closed(world) == 6
    used = 3 + 55 / 60
    assert rows(world, lease) == [
        ("flat", 1, 0, 1, "5.00"),
        ("unused", 1, used, 5, "2.17"),
        ("used", 1, 0, 3, "9.00"),
        ("used", 1, 3, used, "2.75"),
    ]
    # An hour and five minutes come back, a half of two euros each.
    assert left(world, spring) == "81.08"
    now = ALL.get(world.service, spring.id)
    assert charged(world.service, now) == now.encumbered


def test_what_is_late_or_missing_is_given_back(world: World) -> None:
    spring = budget(world, "100")
    world.refuse("aggregates.ensure")
    late = world.lease(hosts(), end=7)
    run_until(world, world.hour(1))
    world.cloud.faults.clear()
    run_until(world, world.hour(2))
    others = world.active(hosts(3), start=2, end=6)
    run_until(world, world.hour(4))
    world.fail("cmp-06")
    run_until(world, world.hour(7))
    assert closed(world) == 6
    charged_late = [row for row in rows(world, late) if row[0] == "late"]
    assert len(charged_late) == 1
    _, units, start, end, amount = charged_late[0]
    assert (units, start) == (1, 0)
    assert 1 <= end < 2
    assert Decimal(amount) == -round(Decimal(2 * end), 2)
    assert [row for row in rows(world, others) if row[0] == "missing"] == [("missing", 1, 4, 6, "-4.00")]
    assert left(world, spring) == f"{100 - total(world) - 3:.2f}", "an hour of the late one, at most used, lies ahead"


def test_what_is_given_up_is_charged_where_it_lies_and_a_lease_that_was_moved_where_it_is(world: World) -> None:
    lease = world.lease(hosts(), start=4, end=10)
    run_until(world, world.hour(1))
    delete_lease(world.service, lease.id)
    run_until(world, world.hour(7))
    assert closed(world) == 6
    assert rows(world) == [("flat", 1, 0, 1, "5.00"), ("given_up", 1, 4, 6, "2.00")]
    run_until(world, world.hour(13))
    assert closed(world) == 12
    assert rows(world)[1:] == [
        ("given_up", 1, 4, 6, "2.00"),
        ("given_up", 1, 6, 9, "3.00"),
        ("given_up", 1, 9, 10, "1.00"),
    ]


def test_nothing_is_closed_before_all_is_known_and_everything_once(world: World) -> None:
    lease = world.active(hosts(), end=2)
    run_until(world, world.hour(3.1))
    assert closes(world) == -3, "its events have no position in the log yet"
    sequence_events(world.service)
    assert closes(world) == -3, "its events are not accounted for"
    follow(world.service)
    assert closes(world) == 0, "transactions may be under way that began before"
    run_until(world, world.hour(3.5))
    assert closed(world) == 3
    found = rows(world, lease)
    assert closed(world) == 3
    run_until(world, world.hour(30))
    assert closed(world) == 27
    assert rows(world, lease) == found


def test_who_is_killed_in_between_charges_nothing_twice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    spring = budget(world, "1000")
    for number in range(3):
        world.lease(instances(2), start=number, end=number + 4)
    monkeypatch.setattr(closing, "CHUNK", 1)
    run_until(world, world.hour(9.5))
    sequence_events(world.service)
    follow(world.service)
    for point in ("note_charged", "add_charges", "_give_back", "save_charged"):
        with monkeypatch.context() as dying:
            dying.setattr(closing, point, _killed)
            with suppress(Killed):
                close(world.service)
    assert closed(world) == 9
    assert [row[0] for row in rows(world)] == ["unused"] * 6
    assert left(world, spring) == f"{1000 - total(world):.2f}"


def _killed(*_args: Any, **_more: Any) -> None:
    raise Killed


def test_of_two_managers_one_charges(world: World) -> None:
    world.active(hosts(), end=2)
    run_until(world, world.hour(4))
    sequence_events(world.service)
    follow(world.service)
    with world.service.db.reading() as connection:
        before = charged_until(connection, CLOSED)
    until = close(world.service)
    found = rows(world)
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        world.service.db.transact(partial(save_charged, name=CLOSED, before=before, after=until))
    assert rows(world) == found


def test_a_budget_that_is_made_later_or_amended_counts_what_was_charged(world: World) -> None:
    lease = world.active(hosts(), end=6)
    run_until(world, world.hour(3.5))
    assert closed(world) == 3
    # Nothing ran: of the first three hours a third of three euros each comes back.
    spring = budget(world, "100", -1, 8)
    assert left(world, spring) == "80.00"
    cut = amend_budget(world.service, spring.id, BudgetChanges(ends_at=world.hour(1.5)))
    assert from_micro(cut.encumbered) == Decimal("8.00")
    run_until(world, world.now() + timedelta(minutes=1))
    recount(world.service)
    assert left(world, spring) == "92.00"
    assert cost(world, lease) == "23.00"


def test_a_budget_that_got_something_back_is_used_up_later(world: World) -> None:
    world.active(hosts(), end=10)
    spring = budget(world, "35", -1, 20)
    run_until(world, world.hour(3.5))
    assert closed(world) == 3
    amend_budget(world.service, spring.id, BudgetChanges(amount=20 * 10**6, at_end=AtEnd.END))
    with world.service.db.reading() as connection:
        (found,) = beyond_budgets(connection, world.now(), timedelta(days=1))
    # Five were paid once, three hours cost two each, and the rest pays for three hours that may cost three.
    assert found.since == world.hour(6)


def test_a_lease_that_was_moved_is_charged_where_it_was_and_extended_at_its_price(world: World) -> None:
    firm = world.lease(hosts(4), start=0, end=10)
    placed = flexible(world, 30, 4)
    assert at(world, placed) == (10, 14)
    world.amend(firm, end=5)
    assert (move_all(world.service), at(world, placed)) == (1, (5, 9))
    run_until(world, world.hour(6))
    amended(world, world.get(placed.lease), end=10)
    assert cost(world, placed.lease) == "20.00"
    run_until(world, world.hour(13))
    assert closed(world) == 12
    assert rows(world, placed.lease)[1:] == [
        ("unused", 1, 5, 6, "2.00"),
        ("unused", 1, 6, 9, "6.00"),
        ("unused", 1, 9, 10, "2.00"),
    ]


def test_a_lease_that_was_moved_into_the_time_of_its_budget_is_not_beyond_it(world: World) -> None:
    firm = world.lease(hosts(4), start=0, end=10)
    placed = flexible(world, 30, 4)
    budget(world, "1000", -1, 12, at_end=AtEnd.END)

    def beyond() -> list[str]:
        with world.service.db.reading() as connection:
            return [each.lease_id for each in beyond_budgets(connection, world.now(), timedelta(days=1))]

    assert beyond() == [placed.lease.id]
    world.amend(firm, end=5)
    assert (move_all(world.service), at(world, placed)) == (1, (5, 9))
    assert beyond() == []


@pytest.mark.slow
def test_of_two_corrections_at_once_one_gives_all_of_it_back(database_url: str) -> None:
    with make_service(database_url, settings=PRICED, hosts=NAMES) as world:
        world.active(hosts(), end=3)
        run_until(world, world.hour(3.5))
        assert closed(world) == 3
        with world.service.db.reading() as connection:
            query = select(charges.c.id, charges.c.amount).where(charges.c.kind == "unused")
            (ident, amount) = connection.execute(query).one()
        give = partial(_gives_back, world, ident, amount)
        with first_commit_held(world.engine) as (reached, opened), ThreadPoolExecutor(2) as pool:
            first = pool.submit(give)
            assert reached.wait(60)
            second = pool.submit(give)
            # It waits for the first, or is wrong already.
            wait([second], timeout=1)
            opened.set()
            assert (first.result(60), second.result(60)) == (True, False)
        assert total(world) == Decimal(5)
        world.engine.dispose()


def _gives_back(world: World, ident: int, amount: int) -> bool:
    try:
        correct(world.service, Correction(ident, -amount, "The rack had no network."))
    except InvalidInputError:
        return False
    return True


@pytest.mark.slow
def test_on_each_database(database_url: str) -> None:
    with make_service(database_url, settings=PRICED, hosts=NAMES) as world:
        spring = budget(world, "100")
        lease = world.active(hosts(2), end=5)
        world.boot(lease)
        live_until(world, 7)
        assert closed(world) == 6
        found = rows(world)
        assert {row[0] for row in found} == {"flat", "used", "unused"}
        assert left(world, spring) == f"{100 - total(world):.2f}"
        assert closed(world) == 6
        assert rows(world) == found
        world.engine.dispose()
