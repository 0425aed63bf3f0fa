"""Leases that go on beyond their budget: they run on, or are told, or end after a notice, and never before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, select

from leasehold.db.tables import outbox
from leasehold.features.price.budget import AtEnd
from leasehold.features.price.budget_options import BudgetSettings
from leasehold.features.price.ending import cases, end_beyond
from leasehold.features.price.use import ALL, BudgetChanges, amend_budget, delete_budget, recount
from leasehold.features.usage.follow import follow
from leasehold.features.usage.store import usage_losses
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.event_log import LeaseNews
from tests.factory import ALT, Killed, floating_ips, hosts, instances, run_for, run_until
from tests.features.price.prices import agreed, amended, budget, cost, left, with_budgets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.model.lease import Lease
    from tests.factory import World

DAY = 24
NOTICE = BudgetSettings(percent=(), ahead=timedelta(0), notice=timedelta(hours=DAY))
ENDS, ENDED, RESTORED = LeaseNews.BUDGET_ENDS, LeaseNews.BUDGET_ENDED, LeaseNews.BUDGET_RESTORED


@pytest.fixture
def day(world: World) -> Iterator[World]:
    """Return the service with a notice of a day, and the next year's budget, which says that leases end."""
    other = with_budgets(world, NOTICE)
    other.hosts.update(world.hosts)
    yield other
    other.engine.dispose()


def told(world: World, lease: Lease) -> list[str]:
    return [kind for kind, _ in world.told(lease) if kind.startswith("lease.budget")]


def said(world: World, lease: Lease) -> dict[str, Any]:
    """Return what the last event said that a lease goes on beyond its budget."""
    query = select(outbox.c.payload).where(outbox.c.lease_id == lease.id, outbox.c.event_type == ENDS)
    with world.service.db.reading() as connection:
        payload = connection.execute(query.order_by(outbox.c.id.desc())).scalars().first()
    assert payload is not None
    return {name: payload[name] for name in ("budget_name", "unpaid_from", "ends_at")}


def rounds(world: World, hours: float, step: float = 1) -> None:
    """Let so many hours pass, with a round of the job every step."""
    for _ in range(round(hours / step)):
        run_for(world, hours=step)
        end_beyond(world.service)


def shortened(world: World, at_end: AtEnd, end: float = 30) -> Lease:
    """Return a running lease of 100 hours whose budget was shortened by its operator."""
    spring = budget(world, "1000", end=200, at_end=at_end)
    lease = world.active(hosts(1), start=0, end=100)
    amend_budget(world.service, spring.id, BudgetChanges(ends_at=world.hour(end)))
    return lease


def test_leases_run_on_unless_the_budget_says_otherwise(day: World) -> None:
    lease = shortened(day, AtEnd.RUN)
    rounds(day, 101)
    assert (told(day, lease), day.get(lease).window.end) == ([], day.hour(100))


def test_with_warn_the_owner_is_told_once_and_the_lease_runs_on(day: World) -> None:
    lease = shortened(day, AtEnd.WARN)
    rounds(day, 80)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS], day.hour(100))
    assert said(day, lease) == {"budget_name": "spring", "unpaid_from": day.hour(30).isoformat(), "ends_at": None}


def test_with_end_the_lease_ends_at_the_end_of_the_budget_as_was_told(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=60)
    rounds(day, 34)
    assert told(day, lease) == []
    rounds(day, 2)
    # The action before the end begins an hour before it.
    assert told(day, lease) == [ENDS]
    assert said(day, lease)["ends_at"] == day.hour(60).isoformat()
    rounds(day, 22)
    assert day.get(lease).window.end == day.hour(100)
    rounds(day, 2)
    assert told(day, lease) == [ENDS, ENDED]
    assert day.get(lease).window.end == day.hour(60)
    run_until(day, day.hour(61))
    assert day.status(lease) == "TERMINATED"


def test_what_is_not_had_costs_nothing(day: World) -> None:
    spring = budget(day, "1000", end=200, at_end=AtEnd.END)
    lease = day.active(hosts(1), start=0, end=100)
    # Until three hours after the start an hour costs two, and half of that is paid for what its owner gives up.
    assert cost(day, lease) == "205.00"
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(60)))
    rounds(day, 62)
    assert (cost(day, lease), agreed(day, lease).given_up) == ("125.00", ())
    recount(day.service)
    assert left(day, spring) == "875.00"
    # Nor is it given up in the record of usage.
    sequence_events(day.service)
    follow(day.service)
    with day.service.db.reading() as connection:
        assert connection.execute(select(usage_losses.c.state)).all() == []


def test_a_budget_that_is_over_already_gives_the_whole_notice(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=1)
    run_until(day, day.hour(5))
    end_beyond(day.service)
    assert said(day, lease)["ends_at"] == day.hour(5 + DAY + 1).isoformat()
    rounds(day, DAY - 1)
    assert day.get(lease).window.end == day.hour(100)
    rounds(day, 1)
    assert day.get(lease).window.end == day.hour(5 + DAY + 1)


def test_a_budget_that_is_deleted_by_mistake_and_made_anew_ends_nothing(day: World) -> None:
    budget(day, "1000", start=-10, end=1, at_end=AtEnd.END)
    this = budget(day, "1000", start=1, end=200)
    lease = day.active(hosts(1), start=0, end=100)
    delete_budget(day.service, this)
    rounds(day, DAY - 2)
    assert told(day, lease) == [ENDS]
    anew = budget(day, "1000", start=1, end=200)
    rounds(day, 60)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, RESTORED], day.hour(100))
    # And once more: the notice begins anew.
    delete_budget(day.service, anew)
    rounds(day, 5)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, RESTORED, ENDS], day.hour(100))


def test_nothing_ends_in_a_project_whose_last_budget_is_deleted(day: World) -> None:
    spring = budget(day, "1000", end=200, at_end=AtEnd.END)
    lease = day.active(hosts(1), start=0, end=100)
    delete_budget(day.service, spring)
    rounds(day, 90)
    assert (told(day, lease), day.get(lease).window.end) == ([], day.hour(100))


def test_a_budget_made_anew_between_the_look_and_the_decision_keeps_the_lease(day: World) -> None:
    """The second look is under the locks that whoever changes a budget waits for."""
    lease = shortened(day, AtEnd.END, end=1)
    end_beyond(day.service)
    run_for(day, hours=DAY + 2)
    found = cases(day.service)
    (spring,) = ALL.page(day.service, "demo")
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(150)))
    assert [each.proceed() for each in found] == [False]
    end_beyond(day.service)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, RESTORED], day.hour(100))


def test_a_lease_that_changed_between_the_look_and_the_decision_is_looked_at_again(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=1)
    end_beyond(day.service)
    run_for(day, hours=DAY + 2)
    found = cases(day.service)
    amended(day, lease, end=90)
    assert [each.proceed() for each in found] == [False]
    assert end_beyond(day.service) == 1


def test_a_budget_that_became_too_small_pays_as_long_as_it_lasts(day: World) -> None:
    spring = budget(day, "1000", end=200, at_end=AtEnd.END)
    lease = day.active(instances(1, vcpus=4), start=0, end=100)
    amend_budget(day.service, spring.id, BudgetChanges(amount=50 * 10**6))
    rounds(day, 60)
    assert said(day, lease)["unpaid_from"] == day.hour(50).isoformat()
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, ENDED], day.hour(50))
    assert left(day, spring) == "0.00"


def test_what_was_told_is_not_sooner_if_the_budget_becomes_still_smaller(day: World) -> None:
    spring = budget(day, "1000", end=200, at_end=AtEnd.END)
    lease = day.active(instances(1, vcpus=4), start=0, end=100)
    amend_budget(day.service, spring.id, BudgetChanges(amount=30 * 10**6))
    rounds(day, 10)
    assert said(day, lease)["ends_at"] == day.hour(30).isoformat()
    amend_budget(day.service, spring.id, BudgetChanges(amount=5 * 10**6))
    rounds(day, 25)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, ENDED], day.hour(30))


def test_an_owner_who_gives_up_a_little_does_not_begin_the_notice_anew(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=30)
    for hours in range(99, 60, -1):
        rounds(day, 1)
        if day.get(lease).window.end > day.hour(60):
            amended(day, day.get(lease), end=hours)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, ENDED], day.hour(30))


def test_a_lease_that_has_not_begun_never_begins(day: World) -> None:
    spring = budget(day, "1000", end=200, at_end=AtEnd.END)
    lease = day.lease(hosts(1), start=50, end=100)
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(30)))
    rounds(day, 48)
    assert (told(day, lease), said(day, lease)["ends_at"]) == ([ENDS], day.hour(50).isoformat())
    rounds(day, 1.5, 0.5)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, ENDED], day.hour(50))
    # What it had is free for others.
    day.lease(hosts(4), start=50, end=60, caller=ALT)
    rounds(day, 20)
    assert day.status(lease) == "TERMINATED"
    assert cost(day, lease) == "5.00"


def test_who_ends_earlier_is_left_alone(day: World) -> None:
    spring = budget(day, "1000", end=200, at_end=AtEnd.END)
    lease = day.active(hosts(1), start=0, end=20)
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(10)))
    rounds(day, 19)
    assert said(day, lease)["ends_at"] == day.hour(20).isoformat()
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS], day.hour(20))


def test_a_lease_that_costs_nothing_goes_on(day: World) -> None:
    spring = budget(day, "1000", end=200, at_end=AtEnd.END)
    day.enrol_addresses(101)
    lease = day.active(floating_ips(1), start=0, end=100)
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(2)))
    rounds(day, 50)
    assert (told(day, lease), day.get(lease).window.end) == ([], day.hour(100))


def test_the_budget_of_a_member_ends_the_leases_of_this_member(day: World) -> None:
    budget(day, "1000", end=200, at_end=AtEnd.RUN)
    budget(day, "1000", end=2, at_end=AtEnd.END, user_id="bob")
    bob = replace(ALT, project_id="demo")
    bobs, other = day.active(hosts(1), start=0, end=2, caller=bob), day.active(hosts(1), start=0, end=100)
    (mine,) = (each for each in ALL.page(day.service, "demo") if each.user_id)
    amend_budget(day.service, mine.id, BudgetChanges(ends_at=day.hour(1)))
    rounds(day, 1.5, 0.5)
    assert (told(day, bobs), told(day, other)) == ([ENDS], [])


def test_a_lender_ends_when_it_has_back_what_it_lent(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=1)
    lent = day.lend(lease, next(iter(day.holds(lease))))
    rounds(day, 40)
    assert day.get(lease).window.end == day.hour(100)
    day.delete(lent)
    rounds(day, 4)
    assert (told(day, lease), day.status(lease)) == ([ENDS, ENDED], "TERMINATED")


def test_another_manager_goes_on_where_one_died(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=1)
    end_beyond(day.service)
    other = with_budgets(day, NOTICE)
    run_for(other, hours=DAY + 2)
    assert end_beyond(other.service) == 1
    assert end_beyond(day.service) == 0
    assert told(day, lease) == [ENDS, ENDED]
    other.engine.dispose()


@pytest.mark.parametrize("step", ["tells", "ends"])
def test_a_manager_that_dies_before_its_commit_has_done_nothing(day: World, step: str) -> None:
    lease = shortened(day, AtEnd.END, end=1)
    if step == "ends":
        end_beyond(day.service)
        run_for(day, hours=DAY + 2)
    before = told(day, lease), day.get(lease).window.end
    dying = with_budgets(day, NOTICE)

    @event.listens_for(dying.engine, "commit")
    def die(_: object) -> None:
        raise Killed

    with pytest.raises(Killed):
        end_beyond(dying.service)
    dying.engine.dispose()
    assert (told(day, lease), day.get(lease).window.end) == before
    assert end_beyond(day.service) == 1
    assert told(day, lease) == [*before[0], ENDED if step == "ends" else ENDS]


def test_a_clock_that_goes_back_ends_nothing(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=1)
    run_for(day, hours=2)
    end_beyond(day.service)
    day.clock.moment -= timedelta(hours=1)
    rounds(day, DAY)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS], day.hour(100))


def test_a_lease_whose_end_came_near_while_nobody_looked_keeps_it(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=1)
    end_beyond(day.service)
    run_for(day, hours=99.5)
    assert end_beyond(day.service) == 0
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS], day.hour(100))


def test_a_lease_that_became_longer_is_told_of_anew(day: World) -> None:
    """Nobody looked between the top-up, the extension and the mistake."""
    lease = shortened(day, AtEnd.END, end=30)
    rounds(day, 6)
    (spring,) = ALL.page(day.service, "demo")
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(200)))
    amended(day, day.get(lease), end=120)
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(2)))
    rounds(day, DAY)
    assert told(day, lease) == [ENDS, ENDS]
    assert said(day, lease)["ends_at"] == day.hour(7 + DAY + 1).isoformat()
    assert day.get(lease).window.end == day.hour(120)


def test_a_budget_that_pays_longer_but_not_for_all_is_told_of_anew(day: World) -> None:
    lease = shortened(day, AtEnd.END, end=30)
    rounds(day, 6)
    (spring,) = ALL.page(day.service, "demo")
    amend_budget(day.service, spring.id, BudgetChanges(ends_at=day.hour(50)))
    rounds(day, 1)
    assert said(day, lease)["ends_at"] == day.hour(50).isoformat()
    rounds(day, 40)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, ENDS], day.hour(100))
    rounds(day, 3)
    assert (told(day, lease), day.get(lease).window.end) == ([ENDS, ENDS, ENDED], day.hour(50))
