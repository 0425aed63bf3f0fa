"""What a lease would cost in a window that a search has found or a refusal offers."""

from __future__ import annotations

from decimal import localcontext
from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.price.agreement import NO_AGREEMENT, Has, amount, renewed
from leasehold.features.price.clause import agreed_before, numbers_of, quoted
from leasehold.features.price.model import EXACT, LONGEST_BY_THE_CLOCK, NOTHING
from leasehold.features.price.options import PriceSettings
from leasehold.model.estimate import Estimate
from leasehold.model.windows import OPEN_END

if TYPE_CHECKING:
    from decimal import Decimal

    from leasehold.conf.settings import Settings
    from leasehold.features.price.model import Prices
    from leasehold.leasing.fit import Estimator, Fit


def make_estimator(settings: Settings) -> Estimator | None:
    """Return what says the cost; None where nothing has a price."""
    prices = settings.of(PriceSettings).prices
    return None if prices is None else partial(_cost, prices)


def _cost(prices: Prices, fit: Fit) -> Estimate | None:
    """Return what all of the lease would cost, and if it is changed how much more that is than before."""
    lease = fit.lease
    if fit.window.end >= OPEN_END or (lease is not None and (lease.lent is not None or lease.is_maintenance)):
        return None
    had = numbers_of(lease)
    parts = [
        Has(
            each.reservation_id,
            fit.window,
            quoted(prices, each.resource_type, each.pool, each.picks, fit.now, had),
        )
        for each in fit.parts
    ]
    before = NO_AGREEMENT if fit.connection is None else agreed_before(fit.connection, lease)
    after = renewed(before, parts, fit.now)
    if after.by_the_clock > LONGEST_BY_THE_CLOCK or not after.costs:
        return None
    with localcontext(EXACT):
        total = after.hour_seconds()
        more = total - before.hour_seconds()
    value = {"unit": prices.unit, "total": str(amount(total, prices.places))}
    if fit.connection is None:
        return Estimate("cost", value, f"That costs {value['total']} {prices.unit}.")
    return Estimate("cost", {**value, "more": str(amount(more, prices.places))}, _sentence(prices, more))


def _sentence(prices: Prices, more: Decimal) -> str:
    shown = f"{amount(abs(more), prices.places)} {prices.unit}"
    return f"That costs {shown} {'more' if more >= NOTHING else 'less'}."
