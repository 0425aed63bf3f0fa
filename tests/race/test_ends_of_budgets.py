"""Two managers look at the same leases at the same moment: each is told of once, and ended once, on each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.features.price.budget import AtEnd
from leasehold.features.price.budget_options import BudgetSettings
from leasehold.features.price.ending import cases
from leasehold.features.price.use import BudgetChanges, amend_budget
from leasehold.features.price.warning import warn
from tests.factory import instances, make_service, run_for
from tests.features.price.prices import PRICED, budget, with_budgets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.factory import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LEASES = 12
NOTICE = BudgetSettings(ahead=timedelta(hours=1), notice=timedelta(hours=2))


def at_once(worlds: Sequence[World], work: Callable[[World], object]) -> None:
    start = Barrier(len(worlds))

    def meet(world: World) -> object:
        start.wait()
        return work(world)

    with ThreadPoolExecutor(len(worlds)) as pool:
        for each in [pool.submit(meet, world) for world in worlds]:
            error = each.exception()
            # The first to tell of a budget writes its row; another one leaves it to the next round.
            assert error is None or type(error).__name__ == "IntegrityError"


def proceed(world: World) -> None:
    for case in cases(world.service):
        case.proceed()


def told(world: World) -> list[tuple[str, str]]:
    query = select(outbox.c.lease_id, outbox.c.event_type).where(outbox.c.event_type.contains("budget"))
    with world.service.db.reading() as connection:
        return sorted((row.lease_id, row.event_type) for row in connection.execute(query))


def test_each_is_told_and_ended_once(database_url: str) -> None:
    with make_service(database_url, settings=PRICED, hosts=["cmp-01", "cmp-02"]) as first:
        worlds = [with_budgets(first, NOTICE) for _ in range(3)]
        spring = budget(worlds[0], "1000", end=300, at_end=AtEnd.END)
        leases = [worlds[0].active(instances(1), start=0, end=200) for _ in range(LEASES)]
        amend_budget(first.service, spring.id, BudgetChanges(ends_at=first.hour(0.5), amount=10**6))
        at_once(worlds, lambda world: warn(world.service))
        for _ in range(4):
            at_once(worlds, proceed)
            run_for(first, hours=1)
        for world in worlds:
            proceed(world)
        wanted = [(each.id, f"lease.budget_{word}") for each in leases for word in ("ends", "ended")]
        assert told(first) == sorted([("", "budget.ends_soon"), ("", "budget.nearly_used"), *wanted])
        assert {first.get(each).window.end for each in leases} == {first.hour(3)}
        for world in worlds:
            world.engine.dispose()
