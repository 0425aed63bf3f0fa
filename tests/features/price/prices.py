"""Prices for tests, and what is agreed by them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from leasehold.features.price.agreement import Agreement, amount
from leasehold.features.price.budget import from_micro
from leasehold.features.price.model import NoticeFactor, PriceList, Prices, Rates, Rule
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import find_agreement
from leasehold.features.price.use import ALL, BudgetDraft, make_budget
from leasehold.model.actor import Actor, acting
from leasehold.model.properties import parse
from tests.factory import AT_ONCE, START

if TYPE_CHECKING:
    from leasehold.features.price.budget import Budget
    from leasehold.features.price.budget_options import BudgetSettings
    from leasehold.model.lease import Lease
    from tests.factory import World

HOURS = timedelta(hours=1)
RULES = (
    Rule("physical:host", Rates(hour=Decimal(8)), condition=parse('["==", "$gpu", "A100"]', "x")),
    Rule("physical:host", Rates(hour=Decimal(2), flat=Decimal(5), given_up=Decimal("0.5"))),
    Rule("virtual:instance", Rates(vcpu_hour=Decimal("0.25"))),
)
NOW = PriceList("now", START - 9 * HOURS, START + 3 * HOURS, ZoneInfo("UTC"), RULES)
LATER = PriceList(
    "later",
    START + 3 * HOURS,
    None,
    ZoneInfo("UTC"),
    (Rule("physical:host", Rates(hour=Decimal(3))),),
    notices=(NoticeFactor(HOURS, Decimal(2)),),
)
PRICED = AT_ONCE.having(PriceSettings(Prices("EUR", 2, (NOW, LATER))))


def agreed(world: World, lease: Lease) -> Agreement:
    with world.service.db.reading() as connection:
        found = find_agreement(connection, lease.id)
    assert found is not None
    return found


def cost(world: World, lease: Lease) -> str:
    return str(amount(agreed(world, lease).hour_seconds(), 2))


def amended(world: World, lease: Lease, part: dict[str, Any] | None = None, **changes: Any) -> Lease:
    """Amend a lease as its owner does."""
    with acting(Actor(lease.user_id, lease.project_id, lease.id)):
        return world.amend(lease, part, **changes)


def budget(world: World, amount: str, start: float = 0, end: float = 100, **more: Any) -> Budget:
    """Make a budget of the project demo from one hour after the start of the test to another."""
    given = {"project_id": "demo", "user_id": "", "name": "spring", **more}
    micro = int(Decimal(amount) * 10**6)
    return make_budget(
        world.service, BudgetDraft(amount=micro, starts_at=world.hour(start), ends_at=world.hour(end), **given)
    )


def left(world: World, of: Budget) -> str:
    return f"{from_micro(ALL.get(world.service, of.id).left):.2f}"


def with_budgets(world: World, budgets: BudgetSettings) -> World:
    """Return the same service as a new process opens it that treats budgets so."""
    prices = world.service.settings.of(PriceSettings)
    return world.with_settings(features=world.service.settings.having(replace(prices, budgets=budgets)).features)
