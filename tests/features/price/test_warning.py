"""Warnings of budgets: each threshold and each end is told once, by whichever manager is first."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.features.price.budget_options import BudgetSettings
from leasehold.features.price.use import BudgetChanges, amend_budget, delete_budget
from leasehold.features.price.warning import warn
from leasehold.leasing.delete import delete_lease
from tests.factory import instances, run_until
from tests.features.price.prices import budget, with_budgets

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

NEARLY, SOON = "budget.nearly_used", "budget.ends_soon"


def lease(world: World, start: float, cost: float) -> Lease:
    """Make a lease that costs so much, and nothing for what is given up."""
    return world.lease(instances(1, vcpus=4), start=start, end=start + cost)


def told(world: World) -> list[tuple[str, Any]]:
    query = select(outbox.c.event_type, outbox.c.payload).where(outbox.c.event_type.startswith("budget."))
    with world.service.db.reading() as connection:
        return [(row.event_type, row.payload) for row in connection.execute(query.order_by(outbox.c.id))]


def kinds(world: World) -> list[tuple[str, int]]:
    return [(kind, payload["percent"]) for kind, payload in told(world)]


def test_each_threshold_is_told_once(world: World) -> None:
    budget(world, "10", end=1000)
    lease(world, 1, 7)
    assert (warn(world.service), told(world)) == (0, [])
    lease(world, 1, 1)
    assert (warn(world.service), warn(world.service)) == (1, 0)
    lease(world, 1, 2)
    assert (warn(world.service), warn(world.service)) == (1, 0)
    assert kinds(world) == [(NEARLY, 80), (NEARLY, 100)]
    payload = told(world)[0][1]
    assert {name: payload[name] for name in ("name", "user_id", "amount", "encumbered", "left", "unit", "percent")} == {
        "name": "spring",
        "user_id": None,
        "amount": "10.000000",
        "encumbered": "8.000000",
        "left": "2.000000",
        "unit": "EUR",
        "percent": 80,
    }


def test_two_thresholds_that_are_passed_at_once_are_one_event(world: World) -> None:
    budget(world, "10", end=1000)
    lease(world, 1, 10)
    warn(world.service)
    assert kinds(world) == [(NEARLY, 100)]


def test_it_is_told_again_after_the_budget_was_larger_or_less_was_agreed(world: World) -> None:
    spring = budget(world, "10", end=1000)
    first = lease(world, 1, 8)
    warn(world.service)
    amend_budget(world.service, spring.id, BudgetChanges(amount=100 * 10**6))
    assert warn(world.service) == 0
    amend_budget(world.service, spring.id, BudgetChanges(amount=10 * 10**6))
    assert warn(world.service) == 1
    delete_lease(world.service, first.id)
    assert warn(world.service) == 0
    lease(world, 1, 9)
    assert warn(world.service) == 1
    assert kinds(world) == [(NEARLY, 80)] * 3


def test_nothing_is_told_where_no_threshold_is_configured_or_nothing_is_agreed(world: World) -> None:
    empty = budget(world, "0", end=1000)
    assert warn(world.service) == 0
    delete_budget(world.service, empty)
    budget(world, "7", end=1000)
    lease(world, 1, 7)
    silent = with_budgets(world, BudgetSettings(percent=(), ahead=timedelta(0)))
    assert warn(silent.service) == 0
    assert warn(world.service) == 1
    silent.engine.dispose()


def test_amounts_as_large_as_a_budget_may_have_are_compared(world: World) -> None:
    budget(world, str(10**12), end=1000)
    lease(world, 1, 7)
    assert warn(world.service) == 0


def test_the_end_is_told_ahead_once_for_each_end(world: World) -> None:
    spring = budget(world, "100", end=80)
    lease(world, 1, 70)
    assert warn(world.service) == 0
    run_until(world, world.hour(8))
    assert (warn(world.service), warn(world.service)) == (1, 0)
    amend_budget(world.service, spring.id, BudgetChanges(ends_at=world.hour(75)))
    assert (warn(world.service), warn(world.service)) == (1, 0)
    amend_budget(world.service, spring.id, BudgetChanges(ends_at=world.hour(200)))
    assert warn(world.service) == 0
    assert [kind for kind, _ in told(world)] == [SOON, SOON]
    assert told(world)[1][1]["end_date"] == world.hour(75).isoformat()


def test_the_end_is_not_told_if_another_budget_follows_or_nothing_is_agreed_for_a_time_ahead(world: World) -> None:
    budget(world, "100", end=30)
    assert warn(world.service) == 0
    going = lease(world, 1, 20)
    following = budget(world, "100", start=30, end=1000)
    assert warn(world.service) == 0
    delete_budget(world.service, following)
    delete_lease(world.service, going.id)
    assert warn(world.service) == 0
    budget(world, "100", end=20, user_id="bob")
    lease(world, 1, 2)
    assert (warn(world.service), len(told(world))) == (1, 1)


def test_what_was_told_goes_with_the_budget(world: World) -> None:
    spring = budget(world, "10", end=1000)
    lease(world, 1, 8)
    warn(world.service)
    delete_budget(world.service, spring)
    budget(world, "10", end=1000)
    assert warn(world.service) == 1
