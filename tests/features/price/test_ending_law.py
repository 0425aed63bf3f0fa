"""Whatever operators, owners and the clock do: no lease ends before what its owner was told, a whole notice ahead."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.features.price.budget import AtEnd
from leasehold.features.price.budget_options import BudgetSettings
from leasehold.features.price.ending import end_beyond
from leasehold.features.price.use import ALL, BudgetChanges, amend_budget, delete_budget, recount
from leasehold.model.errors import LeaseholdError
from leasehold.model.event_log import LeaseNews
from tests.factory import hosts, make_service, run_for
from tests.features.price.prices import PRICED, amended, budget, with_budgets

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

NOTICE = timedelta(hours=6)
STEPS, SEEDS = 100, 10
NAMES = ["cmp-01", "cmp-02", "cmp-05", "cmp-06"]


def operator(world: World, rng: random.Random) -> None:
    """Make, change or delete a budget, also one that is over."""
    known = ALL.page(world.service, "demo")
    way, policy = rng.randrange(4), rng.choice([*AtEnd, AtEnd.END, AtEnd.END])
    if way == 0 or not known:
        start = rng.randint(-5, 60)
        user = rng.choice(["", "alice"])
        budget(world, str(rng.randint(0, 400)), start, start + rng.randint(1, 80), user_id=user, at_end=policy)
        return
    one = rng.choice(known)
    if way == 1:
        delete_budget(world.service, one)
    elif way == 2:
        amend_budget(world.service, one.id, BudgetChanges(amount=rng.randint(0, 400) * 10**6, at_end=policy))
    else:
        end = world.hour(rng.randint(-4, 150))
        amend_budget(world.service, one.id, BudgetChanges(ends_at=end, at_end=policy))


def owner(world: World, rng: random.Random, leases: list[Lease]) -> None:
    """Make a lease, or give one another end."""
    if len(leases) < 6 and rng.random() < 0.5:
        begin = (world.now() - world.hour(0)) / timedelta(hours=1) + rng.randint(1, 20)
        leases.append(world.lease(hosts(1), start=begin, end=begin + rng.randint(1, 90)))
    elif leases:
        amended(world, world.get(rng.choice(leases)), end=rng.randint(1, 160))


def check(world: World) -> int:
    """Check each end that was brought forward, and return how many there were."""
    columns = outbox.c.lease_id, outbox.c.event_type, outbox.c.created_at, outbox.c.payload
    with world.service.db.reading() as connection:
        rows = connection.execute(select(*columns).order_by(outbox.c.id)).all()
    ended, last = 0, dict[str, tuple[datetime, datetime] | None]()
    for row in rows:
        if row.event_type == LeaseNews.BUDGET_RESTORED:
            last[row.lease_id] = None
        elif row.event_type == LeaseNews.BUDGET_ENDS:
            ends = row.payload["ends_at"]
            last[row.lease_id] = None if ends is None else (row.created_at, datetime.fromisoformat(ends))
        elif row.event_type == LeaseNews.BUDGET_ENDED:
            ended += 1
            told = last.get(row.lease_id)
            assert told is not None, "ended without having been told, or after it was told otherwise"
            since, ends_at = told
            assert datetime.fromisoformat(row.payload["end_date"]) >= ends_at
            assert row.created_at >= since + NOTICE
    return ended


def test_no_lease_ends_before_what_was_told(tmp_path: Path) -> None:
    ended = 0
    for seed in range(SEEDS):
        (tmp_path / str(seed)).mkdir()
        with make_service(
            tmp_path / str(seed), settings=PRICED, hosts=["cmp-01", "cmp-02", "cmp-05", "cmp-06"]
        ) as world:
            ended += history(world, seed)
    # Of many more the end was their own, or the budgets paid again in time.
    assert ended >= SEEDS


def history(world: World, seed: int) -> int:
    """Let a random history happen, and return how many ends of leases were brought forward in it."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    mine = with_budgets(world, BudgetSettings(percent=(), ahead=timedelta(0), notice=NOTICE))
    leases = [mine.lease(hosts(1), start=1, end=rng.randint(40, 160)) for _ in range(3)]
    for _ in range(STEPS):
        chance = rng.random()
        # Refused is, for example, a lease that costs too much; then nothing has changed.
        with suppress(LeaseholdError):
            if chance < 0.1:
                operator(mine, rng)
            elif chance < 0.4:
                owner(mine, rng, leases)
        ends = {each.id: mine.get(each).window.end for each in leases}
        run_for(mine, hours=rng.choice([0.5, 1, 3]))
        recount(mine.service)
        end_beyond(mine.service)
        sooner = [each for each in leases if mine.get(each).window.end < ends[each.id]]
        assert all(LeaseNews.BUDGET_ENDED in [kind for kind, _ in mine.told(each)] for each in sooner)
    ended = check(mine)
    mine.engine.dispose()
    return ended
