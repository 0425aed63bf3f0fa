"""Budgets: how they are made and changed; what is agreed of one is counted from the agreements then, and once more."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from leasehold.db.leases.lease import find_lease
from leasehold.db.project import enter
from leasehold.features.price.budget import MOST as MOST_MICRO
from leasehold.features.price.budget import Budget
from leasehold.features.price.charge_store import beside
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import (
    BUDGETS,
    agreements_of,
    budgets_to_count,
    find_budgets,
    outdate_budgets,
    over_too_early,
    save_budget,
)
from leasehold.features.price.warned_store import forget_warned
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.owned import OwnedItems
from leasehold.leasing.unit import run
from leasehold.model.errors import ConflictError, InvalidInputError, NotFoundError, TooManyError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.price.agreement import Agreement
    from leasehold.features.price.model import Prices
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.windows import Window

SETTLED: Final = timedelta(seconds=10)
"""So long after its making everything is committed that was decided before and knew nothing of it."""
MOST: Final = 1_000
"""Budgets of a project, with those of its members."""


class TooManyBudgetsError(TooManyError):
    """The project has as many budgets as it may have."""

    code = "leasehold.budget.too_many"
    things = "budgets"
    advice = "Delete one that is over."


ALL = OwnedItems(BUDGETS, "budget_id", lambda _service: MOST, TooManyBudgetsError)


@dataclass(frozen=True, slots=True)
class BudgetDraft:
    """A requested budget; `amount` is in millionths, and with an empty `user_id` it is that of the project."""

    project_id: str
    user_id: str
    name: str
    amount: int
    starts_at: datetime
    ends_at: datetime
    at_end: str | None = None
    """None: as it is configured when the budget is made."""


@dataclass(frozen=True, slots=True)
class BudgetChanges:
    """A requested change of a budget: None means unchanged."""

    name: str | None = None
    amount: int | None = None
    ends_at: datetime | None = None
    at_end: str | None = None


def prices_of(service: Service) -> Prices:
    """Return the prices; raises ConflictError where nothing has one."""
    prices = service.settings.of(PriceSettings).prices
    if prices is None:
        message = (
            "Nothing has a price here, so there are neither budgets nor charges; the operators name a file in [price] "
            "file first."
        )
        raise ConflictError(message)
    return prices


def make_budget(service: Service, draft: BudgetDraft) -> Budget:
    """Make a budget and return it; what is agreed already for its time is taken from it.

    Raises ConflictError where nothing has a price, or another budget is for the same people and part of the time, and
    TooManyBudgetsError.
    """
    prices_of(service)
    _check_dates(draft.starts_at, draft.ends_at)
    new = Budget(
        id=str(uuid4()),
        project_id=draft.project_id,
        user_id=draft.user_id,
        name=draft.name,
        amount=draft.amount,
        starts_at=draft.starts_at,
        ends_at=draft.ends_at,
        created_at=service.now(),
        recount=True,
        at_end=draft.at_end or service.settings.of(PriceSettings).budgets.at_end,
    )

    def write(connection: Connection) -> Budget:
        ALL.make_room(service, connection, new)
        _check_alone(new, find_budgets(connection, new.project_id, lock=True))
        outdate_budgets(connection, new.project_id)
        counted = _counted(connection, new)
        BUDGETS.add(connection, counted)
        return counted

    return service.db.transact(write)


def amend_budget(service: Service, ident: str, changes: BudgetChanges) -> Budget:
    """Change a budget and return it; one that is smaller than what is agreed of it takes nothing away.

    Raises NotFoundError, InvalidInputError for an end before its start, and ConflictError as `make_budget`.
    """
    seen = ALL.get(service, ident)

    def write(connection: Connection) -> Budget:
        enter(connection, seen.project_id)
        every = find_budgets(connection, seen.project_id, lock=True)
        before = next((each for each in every if each.id == ident), None)
        if before is None:
            raise NotFoundError("budget_id", ident)
        names = [each.name for each in fields(changes)]
        given = {name: value for name in names if (value := getattr(changes, name)) is not None}
        after = replace(before, **given)
        if after.ends_at != before.ends_at:
            _check_dates(after.starts_at, after.ends_at)
            _check_alone(after, [each for each in every if each.id != ident])
            outdate_budgets(connection, seen.project_id)
            after = _counted(connection, replace(after, recount=True))
        save_budget(connection, after)
        return after

    return service.db.transact(write)


def delete_budget(service: Service, budget: Budget) -> None:
    """Delete a budget; raises NotFoundError."""

    def write(connection: Connection) -> bool:
        outdate_budgets(connection, budget.project_id)
        forget_warned(connection, budget.id)
        return BUDGETS.remove(connection, budget.id)

    if not service.db.transact(write):
        raise NotFoundError("budget_id", budget.id)


def recount(service: Service) -> int:
    """Count again what is agreed of budgets that are new, or for another time; return how many of them were.

    What is agreed meanwhile waits for it, or was written before it.
    """
    with service.db.reading() as connection:
        found = budgets_to_count(connection, service.now() - SETTLED)
    for each in found:
        service.db.transact(partial(_recount, each))
    return len(found)


def settle(service: Service) -> int:
    """Give back what is agreed of leases that ended before their end; return how many of them there were.

    An end that its owner asked for is settled when it is decided; this is for those that Leasehold decides, such as
    that of a lease that nobody used.
    """
    with service.db.reading() as connection:
        found = over_too_early(connection, service.now())
    for lease_id in found:
        run(service, _Settling(lease_id))
    return len(found)


@dataclass(frozen=True, slots=True)
class _Settling:
    """The use case: nothing changes of the lease, and the clause sees that it is over."""

    lease_id: str

    def __call__(self, unit: Unit) -> Decision | None:
        lease = find_lease(unit.connection, self.lease_id, lock=True, gone=True)
        locks = unit.lock(())
        return None if lease is None else Decision(locks=locks, lease=lease, before=lease)


def charged(service: Service, budget: Budget) -> int:
    """Return what of a budget is for time that has passed, in millionths."""
    until = max(budget.starts_at, min(budget.ends_at, service.now()))
    passed = replace(budget, ends_at=until)
    with service.db.reading() as connection:
        return sum(passed.share(each) for each in _agreed_for(connection, budget)) + beside(connection, passed)


def _recount(seen: Budget, connection: Connection) -> None:
    enter(connection, seen.project_id)
    locked = find_budgets(connection, seen.project_id, lock=True)
    now = next((each for each in locked if each.id == seen.id), None)
    if now is not None:
        save_budget(connection, replace(_counted(connection, now), recount=False))


def _counted(connection: Connection, budget: Budget) -> Budget:
    """Return a budget with what is agreed of it."""
    agreed = sum(budget.share(each) for each in _agreed_for(connection, budget))
    return replace(budget, encumbered=max(0, min(MOST_MICRO, agreed + beside(connection, budget))))


def _agreed_for(connection: Connection, budget: Budget) -> Sequence[Agreement]:
    return agreements_of(connection, budget.project_id, budget.user_id)


def _check_dates(start: datetime, end: datetime) -> None:
    if end <= start:
        raise InvalidInputError("end_date has to be after start_date.", field="end_date")


def _check_alone(new: Budget, others: Sequence[Budget]) -> None:
    for each in others:
        if each.user_id == new.user_id and not _apart(each.window, new.window):
            message = (
                f"The budget {each.name!r} ({each.id}) is for the same people from {each.starts_at:%Y-%m-%d %H:%M} to "
                f"{each.ends_at:%Y-%m-%d %H:%M} UTC; choose times beside it, or amend it."
            )
            raise ConflictError(message, field="start_date", details={"budget_id": each.id})


def _apart(one: Window, other: Window) -> bool:
    return one.end <= other.start or other.end <= one.start
