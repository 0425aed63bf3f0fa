"""Budgets: how much the leases of a project, or of a member of it, may cost between two dates (feature H6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from leasehold.features.price.agreement import Agreement, amount
from leasehold.features.price.model import LONGEST_BY_THE_CLOCK
from leasehold.model.errors import ForbiddenError
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

MICRO: Final = 6
"""Amounts are kept in millionths of the unit, as whole numbers: every database adds these up exactly."""
MOST: Final = 2**62
"""Millionths: more than any budget may have, and small enough for every database."""


class AtEnd(StrEnum):
    """What becomes of leases that go on when a budget ends: they run on, or their owners are told, or they end too."""

    RUN = "run"
    WARN = "warn"
    END = "end"


def to_micro(value: Decimal) -> int:
    """Return an amount with at most six decimals in millionths."""
    return int(value.scaleb(MICRO))


def from_micro(value: int) -> Decimal:
    """Return an amount that is given in millionths."""
    return Decimal(value).scaleb(-MICRO)


@dataclass(frozen=True, slots=True)
class Budget:
    """So much may be agreed for the time between two dates; with an empty `user_id` it is that of the whole project.

    `amount` and `encumbered`, what is agreed of it, are in millionths of the unit of the prices. The `version` is
    another one when a budget of the project was made, deleted or put off; `recount` says that this one was, just now.
    `at_end` is one of `AtEnd`.
    """

    id: str
    project_id: str
    user_id: str
    name: str
    amount: int
    starts_at: datetime
    ends_at: datetime
    created_at: datetime
    encumbered: int = 0
    recount: bool = False
    version: int = 1
    at_end: str = AtEnd.RUN

    @property
    def window(self) -> Window:
        """The time that it pays for."""
        return Window(self.starts_at, self.ends_at)

    @property
    def left(self) -> int:
        """What is left of it, in millionths; below zero if more was agreed before it was made or became smaller."""
        return self.amount - self.encumbered

    def share(self, agreed: Agreement) -> int:
        """Return what it pays of an agreement, in millionths, rounded half to even."""
        return min(MOST, to_micro(amount(agreed.hour_seconds(self.window), MICRO)))


class BudgetExceededError(ForbiddenError):
    """What is asked for costs more than the budget has left."""

    code = "leasehold.budget.exceeded"


class NoBudgetError(ForbiddenError):
    """What is asked for costs something at a time for which there is no budget, although there is one for others."""

    code = "leasehold.budget.not_covered"


class TooLongToPriceError(ForbiddenError):
    """A lease would be longer than prices are found for that depend on the hour."""

    code = "leasehold.price.too_long"


def too_long() -> TooLongToPriceError:
    """Return the refusal of a lease that is too long for prices that depend on the hour."""
    days = LONGEST_BY_THE_CLOCK // timedelta(days=1)
    message = (
        f"What is asked for costs more at some hours than at others, so its lease may last {days} days at most, and "
        "has an end; ask for an earlier end_date, and extend the lease later."
    )
    return TooLongToPriceError(message, field="end_date", details={"days": days})


@dataclass(frozen=True, slots=True)
class Change:
    """What an agreement was, and what it becomes."""

    before: Agreement
    after: Agreement

    def more(self, budget: Budget) -> int:
        """Return by how much more of a budget is agreed then, in millionths."""
        return budget.share(self.after) - budget.share(self.before)

    def uncovered(self, budgets: Sequence[Budget]) -> bool:
        """Say whether more is asked for at times that none of these budgets pays for."""
        windows = sorted(each.window for each in budgets)
        return self.after.beside(windows) > self.before.beside(windows)


@dataclass(frozen=True, slots=True)
class Fitting:
    """What would fit into the budgets: how late the lease could end, and the most resources; None: nothing is known."""

    end: datetime | None = None
    units: int | None = None

    def advice(self) -> str:
        """Say it to the person who asks."""
        ways = []
        if self.end is not None:
            ways.append(f"end it by {self.end:%Y-%m-%d %H:%M} UTC")
        if self.units:
            ways.append(f"ask for {self.units} at most")
        return f"To stay within it, {' or '.join(ways)}." if ways else "Nothing of it fits; ask the operators for more."

    def details(self) -> dict[str, Any]:
        """Return it as the details of a refusal."""
        return {"end_date": self.end and self.end.isoformat(), "amount": self.units}


def exceeded(budget: Budget, more: int, unit: str, places: int, fitting: Fitting) -> BudgetExceededError:
    """Return the refusal of what would take so much more of a budget."""
    cost, left = (_text(each, places) for each in (more, max(0, budget.left)))
    whose = "the project" if not budget.user_id else "you in this project"
    message = (
        f"This costs {cost} {unit}, and the budget {budget.name!r} of {whose} has {left} {unit} left until "
        f"{budget.ends_at:%Y-%m-%d %H:%M} UTC. {fitting.advice()}"
    )
    details = {"budget_id": budget.id, "cost": cost, "left": left, "unit": unit, **fitting.details()}
    return BudgetExceededError(message, details=details)


def not_covered(budgets: Sequence[Budget]) -> NoBudgetError:
    """Return the refusal of what costs something outside of the times of these budgets."""
    times = ", ".join(f"{each.starts_at:%Y-%m-%d %H:%M} to {each.ends_at:%Y-%m-%d %H:%M}" for each in budgets)
    whose = "The project has" if not budgets[0].user_id else "You have"
    message = (
        f"{whose} budgets for these times only, in UTC: {times}. Ask for a lease within them, or ask the operators for "
        "a budget for the time around it."
    )
    return NoBudgetError(message, details={"budgets": [each.id for each in budgets]})


def _text(micro: int, places: int) -> str:
    """Return an amount as people read it: rounded up, so that who has so much more has enough."""
    return str(amount(from_micro(micro) * 3600, places))
