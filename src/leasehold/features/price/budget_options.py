"""The options of budgets, in `[price]`: when their project is told of them, and what becomes of leases at their end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from oslo_config import cfg
from oslo_config.types import Integer

from leasehold.features.price.budget import AtEnd

YEAR: Final = 8760
PERCENT: Final = (80, 100)


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """A project is told when so many percent of a budget are agreed, and so long `ahead` of its end.

    A budget that says nothing else has `at_end`, and no lease is ended before its owner knew of it for the `notice`.
    """

    percent: tuple[int, ...] = PERCENT
    ahead: timedelta = timedelta(hours=72)
    at_end: AtEnd = AtEnd.RUN
    notice: timedelta = timedelta(hours=72)


BUDGET_OPTIONS: Final = [
    cfg.ListOpt(
        "warn_at_percent",
        item_type=Integer(min=1, max=100),
        default=list(PERCENT),
        help="A project is told when so many percent of a budget are agreed, once for each of these until less is "
        "agreed again or the budget is larger; empty: never.",
    ),
    cfg.IntOpt(
        "warn_end_hours",
        min=0,
        max=YEAR,
        default=72,
        help="So many hours before the end of a budget that no other one follows its project is told of it, if "
        "anything is agreed then for a time ahead; 0: it is not.",
    ),
    cfg.StrOpt(
        "at_budget_end",
        choices=list(AtEnd),
        default=AtEnd.RUN,
        help="What becomes of leases that go on beyond the budgets of their project, unless the last budget says it "
        "itself: they run on (run), or their owners are told as well (warn), or they are ended after a notice (end). "
        "It counts for budgets that are made from now on.",
    ),
    cfg.IntOpt(
        "end_notice_hours",
        min=1,
        max=YEAR,
        default=72,
        help="No lease ends because its budget does before its owner has known of that for so many hours.",
    ),
]


def read_budget_settings(group: Any) -> BudgetSettings:
    """Return what the options say."""
    return BudgetSettings(
        percent=tuple(sorted(set(group.warn_at_percent))),
        ahead=timedelta(hours=group.warn_end_hours),
        at_end=AtEnd(group.at_budget_end),
        notice=timedelta(hours=group.end_notice_hours),
    )
