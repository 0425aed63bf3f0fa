"""Budgets: never more is agreed than they have, and a refusal says what would fit."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from leasehold.features.price.budget import BudgetExceededError, NoBudgetError, from_micro
from leasehold.features.price.use import ALL, BudgetChanges, amend_budget, charged, delete_budget, recount
from leasehold.leasing.delete import delete_lease
from leasehold.model.errors import ConflictError
from tests.factory import ALT, START, hosts, run_for, run_until
from tests.features.price.prices import HOURS, amended, budget, left

if TYPE_CHECKING:
    from tests.factory import World


def test_what_is_agreed_is_taken_and_what_is_given_up_comes_back(world: World) -> None:
    spring = budget(world, "30")
    lease = world.lease(hosts(1), start=1, end=3)
    assert left(world, spring) == "21.00"
    delete_lease(world.service, lease.id)
    # Five were paid once, and half of four for what was given up.
    assert left(world, spring) == "23.00"


def test_a_refusal_says_what_would_fit_and_that_is_granted(world: World) -> None:
    spring = budget(world, "20")
    with pytest.raises(BudgetExceededError) as found:
        world.lease(hosts(2), start=1, end=9)
    assert found.value.details == {
        "budget_id": spring.id,
        "cost": "42.00",
        "left": "20.00",
        "unit": "EUR",
        "end_date": "2031-05-01T12:30:00+00:00",
        "amount": 0,
    }
    assert "This costs 42.00 EUR, and the budget 'spring' of the project has 20.00 EUR left" in found.value.message
    assert left(world, spring) == "20.00"
    world.lease(hosts(2), start=1, end=3.5)
    assert left(world, spring) == "0.00"


def test_fewer_would_fit(world: World) -> None:
    budget(world, "20")
    with pytest.raises(BudgetExceededError, match="or ask for 2 at most") as found:
        world.lease(hosts(3), start=1, end=3)
    assert found.value.details["amount"] == 2
    world.lease(hosts(2), start=1, end=3)


def test_an_extension_is_refused_with_how_long_it_could_be_and_granted_after_a_top_up(world: World) -> None:
    spring = budget(world, "15")
    lease = world.active(hosts(1), start=0, end=2)
    with pytest.raises(BudgetExceededError, match="end it by 2031-05-01 14:00 UTC"):
        amended(world, lease, end=9)
    amend_budget(world.service, spring.id, BudgetChanges(amount=30 * 10**6))
    assert amended(world, lease, end=9).window.end == world.hour(9)


def test_a_member_may_have_less_than_the_project(world: World) -> None:
    project, mine = budget(world, "100"), budget(world, "10", user_id="alice", name="alice")
    with pytest.raises(BudgetExceededError, match=r"the budget 'alice' of you in this project has 10\.00 EUR"):
        world.lease(hosts(2), start=1, end=2)
    assert (left(world, project), left(world, mine)) == ("100.00", "10.00")
    world.lease(hosts(2), start=1, end=2, caller=replace(ALT, project_id="demo"))
    assert (left(world, project), left(world, mine)) == ("86.00", "10.00")


def test_each_budget_pays_for_its_own_time(world: World) -> None:
    first, second = budget(world, "100", 0, 2), budget(world, "100", 2, 10)
    world.lease(hosts(1), start=1, end=4)
    assert (left(world, first), left(world, second)) == ("93.00", "96.00")
    with pytest.raises(NoBudgetError, match="The project has budgets for these times only"):
        world.lease(hosts(1), start=9, end=11)


def test_what_was_agreed_before_a_budget_is_taken_from_it(world: World) -> None:
    world.lease(hosts(1), start=1, end=3)
    spring = budget(world, "5", 2, 9)
    assert left(world, spring) == "3.00"
    assert recount(world.service) == 0
    run_for(world, minutes=1)
    assert recount(world.service) == 1
    assert left(world, spring) == "3.00"
    assert recount(world.service) == 0


def test_time_that_passes_is_charged(world: World) -> None:
    spring = budget(world, "100")
    world.active(hosts(1), start=0, end=4)
    run_until(world, START + 1.5 * HOURS)
    now = ALL.get(world.service, spring.id)
    assert [from_micro(each) for each in (charged(world.service, now), now.encumbered)] == [Decimal(8), Decimal(13)]


def test_two_budgets_for_the_same_time_are_refused(world: World) -> None:
    budget(world, "5", 0, 9)
    with pytest.raises(ConflictError, match="is for the same people from 2031-05-01 09:00 to 2031-05-01 18:00 UTC"):
        budget(world, "5", 8, 12)
    budget(world, "5", 9, 12)
    budget(world, "5", 8, 12, user_id="alice")
    budget(world, "5", 8, 12, project_id="other")


def test_other_projects_pay_nothing(world: World) -> None:
    spring = budget(world, "0")
    world.lease(hosts(1), start=1, end=3, caller=ALT)
    assert left(world, spring) == "0.00"


def test_a_process_that_knows_old_budgets_takes_nothing_of_them(world: World) -> None:
    """The second process learns by the refused statement that there are others."""
    other = world.with_settings()
    first = budget(world, "100", 0, 50)
    other.lease(hosts(1), start=1, end=3)
    mine = budget(world, "20", user_id="alice")
    with pytest.raises(BudgetExceededError):
        other.lease(hosts(2), start=5, end=9)
    delete_budget(world.service, mine)
    other.lease(hosts(2), start=5, end=9)
    amend_budget(world.service, first.id, BudgetChanges(ends_at=world.hour(10)))
    with pytest.raises(NoBudgetError):
        other.lease(hosts(1), start=11, end=12)
    delete_budget(world.service, first)
    other.lease(hosts(1), start=11, end=12)
    other.engine.dispose()
