"""The option of prices: `[price] file`; without one nothing costs anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf.errors import unusable
from leasehold.conf.options import Options
from leasehold.features.price.budget_options import BUDGET_OPTIONS, BudgetSettings, read_budget_settings
from leasehold.features.price.file import PriceFileError, read_prices

if TYPE_CHECKING:
    from leasehold.features.price.model import Prices


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """The price lists, None: there are none; what is told about budgets, and done at their end.

    Charges are made for each `period`, which divides a day, and sent `to_cloudkitty`.
    """

    prices: Prices | None = None
    period: timedelta = timedelta(days=1)
    to_cloudkitty: bool = False
    budgets: BudgetSettings = field(default_factory=BudgetSettings)


def _read(group: Any) -> PriceSettings:
    period = timedelta(hours=int(group.period_hours))
    if not group.file:
        return PriceSettings()
    try:
        prices = read_prices(Path(group.file))
        return PriceSettings(prices, period, group.to_cloudkitty, read_budget_settings(group))
    except PriceFileError as error:
        raise unusable(f"[price] file: {error}") from error


OPTIONS = Options(
    "price",
    [
        cfg.StrOpt(
            "file",
            default="",
            help="The file with the price lists (TOML); empty: nothing has a price. It is read at the start.",
        ),
        cfg.StrOpt(
            "period_hours",
            choices=["1", "2", "3", "4", "6", "8", "12", "24"],
            default="24",
            help="Charges are made for each period of so many hours that is over; the periods begin at midnight, UTC.",
        ),
        cfg.BoolOpt(
            "to_cloudkitty",
            default=False,
            help="Whether charges are sent to CloudKitty, each once. [cloudkitty] says where it is, and may name an "
            "account; without one the account of [cloud] is used, which needs the role admin there.",
        ),
        *BUDGET_OPTIONS,
    ],
    PriceSettings,
    _read,
)
