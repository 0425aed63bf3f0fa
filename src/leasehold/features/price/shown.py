"""What a lease costs, in the answer about it and in that to a dry run, from 1.3 on; nothing where it costs nothing."""

from __future__ import annotations

from decimal import localcontext
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from leasehold.api import versions
from leasehold.api.lease_field import LeaseField
from leasehold.db.leases.lease import find_lease
from leasehold.db.resources.resource import resources_by_number
from leasehold.features.price.agreement import Has, amount, renewed
from leasehold.features.price.budget import from_micro
from leasehold.features.price.charge_store import beside_of
from leasehold.features.price.clause import agreed_before
from leasehold.features.price.model import EXACT, HOUR, LONGEST_BY_THE_CLOCK, Goods
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import find_agreements
from leasehold.leasing.deciding.allocations import held_by
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime
    from decimal import Decimal

    from leasehold.api.lease_field import ShowField, ShowTogether
    from leasehold.features.price.agreement import Agreement
    from leasehold.features.price.model import Prices
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease


class CostAnswer(TypedDict):
    """What a lease costs, in a `unit`: in all, up to its end, and what of that is for time that has passed.

    Time counts at the most that it may cost, until what was used, late or missing is charged. `total` is null for a
    lease without an end. `more` is how much more that is than before, in the answer to a dry run;
    null in any other. Decimals as text.
    """

    unit: str
    total: str | None
    passed: str
    more: str | None


def _make(service: Service) -> ShowField:
    return lambda lease: _agreed_cost(service, [lease.id], open_ended=lease.open_ended)


def _together(service: Service) -> ShowTogether:
    return lambda lease_ids: _agreed_cost(service, lease_ids)


def _agreed_cost(service: Service, lease_ids: Collection[str], *, open_ended: bool = False) -> CostAnswer | None:
    """Return what leases cost together; None: nothing is agreed about any."""
    prices = service.settings.of(PriceSettings).prices
    if prices is None:
        return None
    with service.db.reading() as connection:
        found = list(find_agreements(connection, lease_ids).values())
        beside = beside_of(connection, lease_ids) if found else 0
    return _cost(prices, found, service.now(), beside, open_ended=open_ended) if found else None


def _tried(service: Service) -> ShowField:
    prices = service.settings.of(PriceSettings).prices

    def show(lease: Lease) -> CostAnswer | None:
        if prices is None or lease.waits or lease.lent is not None:
            return None
        before, after = _agreed(service, prices, lease)
        if after.by_the_clock > LONGEST_BY_THE_CLOCK or not after.costs:
            return None
        with localcontext(EXACT):
            more = None if lease.open_ended else after.hour_seconds() - before.hour_seconds()
        return _cost(prices, [after], service.now(), more=more, open_ended=lease.open_ended)

    return show


def _agreed(service: Service, prices: Prices, lease: Lease) -> tuple[Agreement, Agreement]:
    """Return what is agreed about a lease, and what would be about this one, which has what it would get."""
    now = service.now()
    numbers = {held.resource_number for part in lease.kept for held in held_by(part, lease)}
    with service.db.reading() as connection:
        before = agreed_before(connection, find_lease(connection, lease.id))
        resources = resources_by_number(connection, numbers)
    parts = []
    for part in lease.kept:
        units = []
        for held in held_by(part, lease):
            goods = Goods(part.resource_type, resources[held.resource_number].values.get, held.demand)
            units.append((prices.quote(goods, now), held.slots))
        parts.append(Has(part.id, lease.window, units))
    return before, renewed(before, parts, now)


def _cost(
    prices: Prices,
    agreed: Sequence[Agreement],
    now: datetime,
    beside: int = 0,
    *,
    more: Decimal | None = None,
    open_ended: bool = False,
) -> CostAnswer:
    """Return the sums of agreements, of which so many millionths more were charged; `more` is times 3600."""
    with localcontext(EXACT):
        charged = from_micro(beside) * HOUR
        passed = sum((each.hour_seconds(_past(each, now)) for each in agreed), charged)
        total = None if open_ended else sum((each.hour_seconds() for each in agreed), charged)
    return {
        "unit": prices.unit,
        "total": _written(prices, total),
        "passed": str(amount(passed, prices.places)),
        "more": _written(prices, more),
    }


def _written(prices: Prices, hour_seconds: Decimal | None) -> str | None:
    return None if hour_seconds is None else str(amount(hour_seconds, prices.places))


def _past(agreed: Agreement, now: datetime) -> Window:
    """Return the time of an agreement up to now."""
    return Window(
        min([now, *(each.window.start for each in agreed.lines), *(each.due_at for each in agreed.once)]), now
    )


FIELDS = (LeaseField("cost", versions.V1_3, CostAnswer, _make, _tried, _together),)
