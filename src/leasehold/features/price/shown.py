"""What a lease costs, in the answer about it and in that to a dry run, from 1.3 on; nothing where it costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from leasehold.api import versions
from leasehold.api.lease_field import LeaseField
from leasehold.db.leases.lease import find_lease
from leasehold.db.resources.resource import resources_by_number
from leasehold.features.price.agreement import NO_AGREEMENT, Has, amount, placed, renewed
from leasehold.features.price.budget import from_micro
from leasehold.features.price.charge_store import beside_of
from leasehold.features.price.clause import free_agreement
from leasehold.features.price.model import HOUR, LONGEST_BY_THE_CLOCK, NOTHING, Goods
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import find_agreement, find_agreements
from leasehold.leasing.deciding.allocations import held_by
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

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
    prices = service.settings.of(PriceSettings).prices

    def show(lease: Lease) -> CostAnswer | None:
        if prices is None:
            return None
        with service.db.reading() as connection:
            found = find_agreement(connection, lease.id)
            less = 0 if found is None else beside_of(connection, [lease.id])
        return None if found is None else _shown(prices, found, lease, service.now(), less)

    return show


def _tried(service: Service) -> ShowField:
    prices = service.settings.of(PriceSettings).prices

    def show(lease: Lease) -> CostAnswer | None:
        if prices is None or lease.waits or lease.lent is not None:
            return None
        before, after = _agreed(service, prices, lease)
        if after.by_the_clock > LONGEST_BY_THE_CLOCK or not after.costs:
            return None
        shown = _shown(prices, after, lease, service.now())
        if not lease.open_ended:
            shown["more"] = str(amount(after.hour_seconds() - before.hour_seconds(), prices.places))
        return shown

    return show


def _agreed(service: Service, prices: Prices, lease: Lease) -> tuple[Agreement, Agreement]:
    """Return what is agreed about a lease, and what would be about this one, which has what it would get."""
    now = service.now()
    numbers = {held.resource_number for part in lease.kept for held in held_by(part, lease)}
    with service.db.reading() as connection:
        known, there = find_agreement(connection, lease.id), find_lease(connection, lease.id)
        resources = resources_by_number(connection, numbers)
    parts = []
    for part in lease.kept:
        units = []
        for held in held_by(part, lease):
            goods = Goods(part.resource_type, resources[held.resource_number].values.get, held.demand)
            units.append((prices.quote(goods, now), held.slots))
        parts.append(Has(part.id, lease.window, units))
    if known is not None and there is not None:
        known = placed(known, there.window.start)
    before = known or (NO_AGREEMENT if there is None or there.waits else free_agreement(there))
    return before, renewed(before, parts, now)


def _shown(prices: Prices, agreed: Agreement, lease: Lease, now: datetime, beside: int = 0) -> CostAnswer:
    """Return what is agreed, of which so many millionths more were charged."""
    agreed, more = placed(agreed, lease.window.start), from_micro(beside) * HOUR
    passed = agreed.hour_seconds(_past(agreed, now)) + more
    return {
        "unit": prices.unit,
        "total": None if lease.open_ended else str(amount(agreed.hour_seconds() + more, prices.places)),
        "passed": str(amount(passed, prices.places)),
        "more": None,
    }


def _together(service: Service) -> ShowTogether:
    prices = service.settings.of(PriceSettings).prices

    def show(lease_ids: Collection[str]) -> CostAnswer | None:
        if prices is None or not lease_ids:
            return None
        with service.db.reading() as connection:
            found = find_agreements(connection, lease_ids).values()
            less = from_micro(beside_of(connection, lease_ids)) * HOUR if found else NOTHING
        if not found:
            return None
        passed = [each.hour_seconds(_past(each, service.now())) for each in found]
        return {
            "unit": prices.unit,
            "total": str(amount(sum((each.hour_seconds() for each in found), less), prices.places)),
            "passed": str(amount(sum(passed, less), prices.places)),
            "more": None,
        }

    return show


def _past(agreed: Agreement, now: datetime) -> Window:
    """Return the time of an agreement up to now."""
    return Window(
        min([now, *(each.window.start for each in agreed.lines), *(each.due_at for each in agreed.once)]), now
    )


FIELDS = (LeaseField("cost", versions.V1_3, CostAnswer, _make, _tried, _together),)
