"""Tell the project of a budget that it is nearly used, or ends soon: each once (feature H6, decision 0158)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import and_, exists, or_, select

from leasehold.db.outbox import put_project_event
from leasehold.features.price.budget import from_micro
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import BUDGETS, agreements, budgets
from leasehold.features.price.use import prices_of
from leasehold.features.price.warned_store import Warned, budget_warnings, find_warned, save_warned
from leasehold.model.event_log import BudgetNews
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.price.budget import Budget
    from leasehold.features.price.budget_options import BudgetSettings
    from leasehold.leasing.service import Service


def warn(service: Service) -> int:
    """Tell the projects of budgets what is to be told of these now; return of how many budgets there was anything."""
    settings, now = service.settings.of(PriceSettings).budgets, service.now()
    with service.db.reading() as connection:
        ending = _ending(connection, settings, now)
        found = {each.id: each for each in [*ending, *_used(connection, settings, now)]}
        known = find_warned(connection, found)
    ends = {each.id for each in ending}
    told = 0
    for budget in found.values():
        percent, before = _reached(budget, settings), known.get(budget.id)
        after = replace(before or Warned(budget.id), percent=percent)
        after = replace(after, end_told=budget.ends_at) if budget.id in ends else after
        if after != (before or Warned(budget.id)):
            told += service.db.transact(_Telling(service, budget, before, after))
    return told


def _used(connection: Connection, settings: BudgetSettings, now: datetime) -> Sequence[Budget]:
    """Return budgets, not over, of which so much is agreed that something may be told, or was told."""
    if not settings.percent:
        return []
    # Rounded down, and divided first: the product of an amount and 100 may be too large for a database.
    near = budgets.c.encumbered >= budgets.c.amount // 100 * settings.percent[0]
    told = exists().where(budget_warnings.c.budget_id == budgets.c.id, budget_warnings.c.percent > 0)
    return BUDGETS.read(connection.execute(select(budgets).where(budgets.c.ends_at > now, or_(near, told))))


def _ending(connection: Connection, settings: BudgetSettings, now: datetime) -> Sequence[Budget]:
    """Return budgets that end soon, that nothing follows, and of which that has not been told though leases go on."""
    if not settings.ahead:
        return []
    later = budgets.alias("later")
    told = exists().where(budget_warnings.c.budget_id == budgets.c.id, budget_warnings.c.end_told == budgets.c.ends_at)
    same = (later.c.project_id == budgets.c.project_id, later.c.user_id == budgets.c.user_id)
    follows = exists().where(*same, later.c.starts_at == budgets.c.ends_at)
    whose = or_(budgets.c.user_id == "", agreements.c.user_id == budgets.c.user_id)
    goes_on = exists().where(
        agreements.c.project_id == budgets.c.project_id, whose, agreements.c.ends_at > to_seconds(now)
    )
    soon = and_(budgets.c.ends_at > now, budgets.c.ends_at <= now + settings.ahead, budgets.c.starts_at <= now)
    return BUDGETS.read(connection.execute(select(budgets).where(soon, goes_on, ~told, ~follows)))


def _reached(budget: Budget, settings: BudgetSettings) -> int:
    """Return the last percentage that is told and that is agreed of a budget; 0: none is."""
    reached = [each for each in settings.percent if 0 < budget.encumbered * 100 >= budget.amount * each]
    return max(reached, default=0)


@dataclass(frozen=True, slots=True)
class _Telling:
    """The transaction that tells what is new of a budget, unless another manager was faster."""

    service: Service
    budget: Budget
    before: Warned | None
    after: Warned

    def __call__(self, connection: Connection) -> bool:
        """Say whether anything was told."""
        if not save_warned(connection, self.before, self.after):
            return False
        known, news = self.before or Warned(self.budget.id), list[BudgetNews]()
        if self.after.percent > known.percent:
            news.append(BudgetNews.NEARLY_USED)
        if self.after.end_told != known.end_told:
            news.append(BudgetNews.ENDS_SOON)
        for each in news:
            self._put(connection, each)
        return bool(news)

    def _put(self, connection: Connection, news: BudgetNews) -> None:
        budget, unit = self.budget, prices_of(self.service).unit
        amounts = {name: f"{from_micro(getattr(budget, name)):f}" for name in ("amount", "encumbered", "left")}
        payload = {
            **{name: getattr(budget, name) for name in ("id", "project_id", "name", "at_end")},
            "user_id": budget.user_id or None,
            "unit": unit,
            **amounts,
            "percent": self.after.percent,
            "start_date": budget.starts_at.isoformat(),
            "end_date": budget.ends_at.isoformat(),
        }
        put_project_event(connection, news, budget.project_id, payload, self.service.now())
