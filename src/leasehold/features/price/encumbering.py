"""Agree only to what the budgets pay: exact whoever else asks, because each budget is compared and swapped.

A process keeps the budgets of a project that has some. Each has a version, which the statement compares that takes
something of it, so nobody takes from budgets that are no longer all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

from leasehold.features.price.agreement import renewed
from leasehold.features.price.budget import Change, Fitting, exceeded, not_covered, too_long
from leasehold.features.price.model import LONGEST_BY_THE_CLOCK
from leasehold.features.price.store import encumber, find_budgets
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.price.agreement import Agreement, Has
    from leasehold.features.price.budget import Budget
    from leasehold.features.price.model import Prices
    from leasehold.model.lease import Lease

MOST_KNOWN: Final = 10_000
"""Projects whose budgets a process keeps: those that it has read last."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for: the parts of a lease from now on, and what was agreed before."""

    lease: Lease
    before: Agreement
    parts: Sequence[Has]
    now: datetime
    free: bool = False

    def agreed(self, end: datetime | None = None, units: int | None = None) -> Agreement:
        """Return what is agreed then; or with an earlier end, or with at most so many units of each part."""
        parts = [each.cut(end, units) for each in self.parts]
        return renewed(self.before, parts, self.now, free=self.free)


@dataclass(slots=True)
class Budgets:
    """The budgets of projects, as this process knows them."""

    prices: Prices
    _known: dict[str, Sequence[Budget]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, connection: Connection, wish: Wish) -> Agreement:
        """Take what a wish costs from the budgets that pay for it, and return what is agreed then.

        Raises BudgetExceededError, NoBudgetError and TooLongToPriceError; then nothing is taken.
        """
        after = wish.agreed()
        if after.by_the_clock > LONGEST_BY_THE_CLOCK:
            raise too_long()
        if not (after.costs or wish.before.costs):
            return after
        change = Change(wish.before, after)
        known = self._of(connection, wish.lease.project_id)
        if known and not self._taken(connection, wish, change, known):
            fresh = find_budgets(connection, wish.lease.project_id, lock=True)
            self._note(wish.lease.project_id, fresh)
            if not self._taken(connection, wish, change, fresh):
                self._refuse(wish, change, fresh)
        return after

    def _taken(self, connection: Connection, wish: Wish, change: Change, budgets: Sequence[Budget]) -> bool:
        """Take what it costs from all of the budgets or from none; return whether that was possible."""
        scopes = _scopes(wish.lease, budgets)
        if any(map(change.uncovered, scopes)):
            return False
        taken: list[tuple[Budget, int]] = []
        for each in (budget for scope in scopes for budget in scope):
            more = change.more(each)
            if more and not encumber(connection, each, more):
                for other, amount in taken:
                    encumber(connection, other, -amount)
                return False
            taken.append((each, more))
        return True

    def _refuse(self, wish: Wish, change: Change, budgets: Sequence[Budget]) -> None:
        """Raise the error of a wish that the budgets, which are locked, do not pay for."""
        scopes = _scopes(wish.lease, budgets)
        uncovered = next(filter(change.uncovered, scopes), None)
        if uncovered is not None:
            raise not_covered(uncovered)
        every = [budget for scope in scopes for budget in scope]
        short = next(each for each in every if change.more(each) > max(0, each.left))
        more = change.more(short)
        raise exceeded(short, more, self.prices.unit, self.prices.places, _fitting(wish, every))

    def _of(self, connection: Connection, project_id: str) -> Sequence[Budget]:
        known = self._known.get(project_id)
        return self._note(project_id, find_budgets(connection, project_id)) if known is None else known

    def _note(self, project_id: str, found: Sequence[Budget]) -> Sequence[Budget]:
        """Keep the budgets of a project; without any it is asked again, because nothing would tell of the first."""
        with self._lock:
            self._known.pop(project_id, None)
            if found:
                self._known[project_id] = found
            while len(self._known) > MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
        return found


def _scopes(lease: Lease, budgets: Sequence[Budget]) -> list[list[Budget]]:
    """Return the budgets that pay for a lease: those of the project, and those of its member, if there are any."""
    scopes = [[each for each in budgets if each.user_id == whose] for whose in ("", lease.user_id)]
    return [each for each in scopes if each]


def _fitting(wish: Wish, budgets: Sequence[Budget]) -> Fitting:
    """Return what of a wish these budgets would pay for."""

    def fits(after: Agreement) -> bool:
        change = Change(wish.before, after)
        return all(change.more(each) <= max(0, each.left) for each in budgets)

    if not wish.parts:
        return Fitting()
    first, last = max(wish.lease.window.start, wish.now), wish.lease.window.end
    low, high = first.timestamp() // 60, last.timestamp() // 60
    minutes = most_fitting(int(low), int(high), lambda minute: fits(wish.agreed(end=from_seconds(60 * minute))))
    end = None if minutes is None or 60 * minutes <= first.timestamp() else from_seconds(60 * minutes)
    units = None
    if len(wish.parts) == 1:
        units = most_fitting(0, wish.parts[0].total - 1, lambda count: fits(wish.agreed(units=count)))
    return Fitting(end, units)


def most_fitting(low: int, high: int, fits: Callable[[int], bool]) -> int | None:
    """Return the greatest number from `low` to `high` that fits, if any does; if one fits, each lower one does."""
    if high < low or not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
