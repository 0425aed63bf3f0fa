"""Leases that go on beyond a budget: what costs something for which no budget pays any more (decision 0158)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.db.tables import leases
from leasehold.features.price.budget import AtEnd
from leasehold.features.price.charge_store import beside
from leasehold.features.price.encumbering import most_fitting
from leasehold.features.price.store import agreed_terms, agreements, agreements_of, budgets, find_budgets, read_agreed
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import OPEN_END, Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.features.price.agreement import Agreement
    from leasehold.features.price.budget import Budget

LIVE = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE, LeaseStatus.ERROR})
"""Statuses of leases that have a time ahead which may be cut."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """A lease goes on from a moment `since` on for which this budget, of those of its project, does not pay."""

    lease_id: str
    budget: Budget
    since: datetime
    budgets: Sequence[Budget]

    @property
    def ends(self) -> bool:
        """Whether it is to end then."""
        return self.budget.at_end == AtEnd.END


@dataclass(frozen=True, slots=True)
class _Gap:
    """A time for which a budget does not pay: after the last one, or when one that became smaller is used up."""

    budget: Budget
    window: Window


def beyond_budgets(connection: Connection, now: datetime, ahead: timedelta) -> list[Beyond]:
    """Return the leases that go on beyond a budget which says more than that they run on, if that is not far ahead.

    Each once: with the first budget that ends it, or else the first that is told of.
    """
    found: dict[str, Beyond] = {}
    asking = select(budgets.c.project_id).where(budgets.c.at_end != AtEnd.RUN).distinct()
    for project_id in connection.execute(asking.order_by(budgets.c.project_id)).scalars().all():
        every = find_budgets(connection, project_id)
        for gap in _gaps(connection, every, now):
            if gap.window.start - ahead > now:
                continue
            for lease_id in _going_on(connection, gap):
                new = Beyond(lease_id, gap.budget, gap.window.start, every)
                found[lease_id] = min([new, *filter(None, [found.get(lease_id)])], key=_first)
    return list(found.values())


def _first(each: Beyond) -> tuple[bool, datetime]:
    return not each.ends, each.since


def _gaps(connection: Connection, every: Sequence[Budget], now: datetime) -> Iterator[_Gap]:
    """Yield the times for which budgets of a project do not pay, and at whose beginning something is told."""
    for whose in sorted({each.user_id for each in every}):
        mine = [each for each in every if each.user_id == whose]
        last = max(mine, key=lambda each: each.ends_at)
        if last.at_end != AtEnd.RUN and last.ends_at < OPEN_END:
            yield _Gap(last, Window(last.ends_at, OPEN_END))
        for each in mine:
            if each.at_end != AtEnd.RUN and each.left < 0 and each.ends_at > now:
                agreed = agreements_of(connection, each.project_id, whose)
                used_up = _used_up(each, agreed, beside(connection, each))
                yield _Gap(each, Window(used_up, each.ends_at))


def _used_up(budget: Budget, agreed: Sequence[Agreement], more: int) -> datetime:
    """Return up to which second a budget pays for what is agreed, and for the millionths charged beside that."""

    def pays(second: int) -> bool:
        part = replace(budget, ends_at=max(budget.starts_at, from_seconds(second)))
        return sum(part.share(each) for each in agreed) + more <= budget.amount

    first = to_seconds(budget.starts_at)
    found = most_fitting(first, to_seconds(budget.ends_at), pays)
    return from_seconds(first if found is None else found)


def _going_on(connection: Connection, gap: _Gap) -> Iterator[str]:
    """Yield the leases that cost something in the time for which a budget does not pay."""
    query = (
        agreed_terms(agreements.c.lease_id)
        .where(
            agreements.c.project_id == gap.budget.project_id,
            agreements.c.ends_at > to_seconds(gap.window.start),
            leases.c.deleted_at.is_(None),
            leases.c.status.in_(LIVE),
        )
        .order_by(agreements.c.lease_id)
    )
    if gap.budget.user_id:
        query = query.where(agreements.c.user_id == gap.budget.user_id)
    for row in connection.execute(query).all():
        if any(each.hour_seconds(gap.window) for each in read_agreed(row).lines):
            yield row.lease_id
