"""Charges as rows of FOCUS 1.2, the FinOps Open Cost and Usage Specification (focus.finops.org). Pure.

The reservation is the capacity reservation of a row, used and unused apart. What came late or was missing is a credit,
what is paid once a purchase, and what operators correct an adjustment.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, Final

from leasehold.features.price.budget import from_micro
from leasehold.features.price.charge import Kind
from leasehold.features.price.model import EXACT, HOUR, ONE
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.features.price.charge import Charge
    from leasehold.features.price.model import Prices

COLUMNS: Final = (
    *("BillingAccountId", "BillingAccountName", "BillingAccountType"),
    *("SubAccountId", "SubAccountName", "SubAccountType"),
    *("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd"),
    *("ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency"),
    *("BillingCurrency", "BilledCost", "EffectiveCost", "ListCost", "ContractedCost"),
    *("ListUnitPrice", "ContractedUnitPrice", "PricingCategory", "PricingQuantity", "PricingUnit"),
    *("PricingCurrency", "PricingCurrencyEffectiveCost"),
    *("PricingCurrencyListUnitPrice", "PricingCurrencyContractedUnitPrice"),
    *("ConsumedQuantity", "ConsumedUnit", "CapacityReservationId", "CapacityReservationStatus"),
    *("InvoiceIssuerName", "ProviderName", "PublisherName", "RegionId", "RegionName"),
    *("ServiceCategory", "ServiceSubcategory", "ServiceName", "ResourceId", "ResourceName", "ResourceType"),
    *("SkuId", "SkuMeter", "SkuPriceId", "SkuPriceDetails", "Tags"),
)
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_CATEGORIES: Final = {HOST_POOL: "Compute", FLOATING_IP_POOL: "Networking"}
_DESCRIPTIONS: Final = {
    Kind.USED: "Reserved time that was used",
    Kind.UNUSED: "Reserved time that was not used",
    Kind.GIVEN_UP: "The share for reserved time that its owner gave up",
    Kind.FILLER: "Time of a filler, without a reservation",
    Kind.FLAT: "What is paid once for a reservation",
    Kind.LATE: "Credit for time before the reservation was delivered",
    Kind.MISSING: "Credit for resources that the reservation did not have",
    Kind.CORRECTION: "Correction of what was charged before",
}
_CHARGED: Final = {
    Kind.FLAT: ("Purchase", "One-Time"),
    Kind.LATE: ("Credit", "Usage-Based"),
    Kind.MISSING: ("Credit", "Usage-Based"),
    Kind.CORRECTION: ("Adjustment", "One-Time"),
}
_USAGE: Final = ("Usage", "Usage-Based")
_QUANTITY: Final = ONE.scaleb(-12)


@dataclass(frozen=True, slots=True)
class Billed:
    """A charge, with its amount in millionths, whose it is, what is leased, and the noun of that."""

    charge: Charge
    amount: int
    lease_id: str
    project_id: str
    user_id: str
    resource_type: str
    noun: str
    pool: str | None
    reason: str | None = None


def currency_of(prices: Prices) -> tuple[str, Decimal] | None:
    """Return the currency of bills and how much of it a unit of the prices is; None: that is not known."""
    if prices.billed is not None:
        return prices.billed
    return (prices.unit, ONE) if _CURRENCY.fullmatch(prices.unit) else None


def focus_row(billed: Billed, prices: Prices, currency: tuple[str, Decimal], region: str) -> dict[str, Any]:
    """Return the row of a charge: text and decimals, None for null."""
    charge, (bills_in, per_unit) = billed.charge, currency
    reserved = charge.kind is not Kind.FILLER
    category, frequency = _CHARGED.get(charge.kind, _USAGE)
    start, end = charge.window.start, charge.window.end
    month, after = _month(start)
    cost = _plain(from_micro(billed.amount) * per_unit)
    whole = {"BilledCost": cost, "EffectiveCost": cost, "ListCost": cost, "ContractedCost": cost}
    return {
        **dict.fromkeys(COLUMNS),
        "BillingAccountId": billed.project_id,
        "BillingAccountName": billed.project_id,
        "BillingAccountType": "Project",
        "SubAccountId": billed.user_id,
        "SubAccountName": billed.user_id,
        "SubAccountType": "User",
        "BillingPeriodStart": _written(month),
        "BillingPeriodEnd": _written(after),
        "ChargePeriodStart": _written(start),
        "ChargePeriodEnd": _written(end),
        "ChargeCategory": category,
        "ChargeClass": "Correction" if charge.kind is Kind.CORRECTION else None,
        "ChargeDescription": billed.reason or _DESCRIPTIONS[charge.kind],
        "ChargeFrequency": frequency,
        "BillingCurrency": bills_in,
        **whole,
        "PricingCurrency": prices.unit,
        "PricingCurrencyEffectiveCost": _plain(from_micro(billed.amount)),
        **(_priced(billed, per_unit) if category in ("Usage", "Purchase") else {}),
        "CapacityReservationId": (charge.reservation_id or None) if reserved else None,
        "CapacityReservationStatus": _status(charge) if reserved and category == "Usage" else None,
        "InvoiceIssuerName": prices.provider,
        "ProviderName": prices.provider,
        "PublisherName": prices.provider,
        "RegionId": region,
        "RegionName": region,
        **_service(billed),
        "ResourceId": billed.lease_id,
        "ResourceType": "Lease" if reserved else "Filler",
        "Tags": json.dumps({"lease_id" if reserved else "filler_id": billed.lease_id}),
    }


def _status(charge: Charge) -> str:
    return "Used" if charge.kind is Kind.USED else "Unused"


def _priced(billed: Billed, per_unit: Decimal) -> Mapping[str, str | None]:
    """Return the columns of a price: a quantity times it is the cost."""
    charge = billed.charge
    once = charge.kind is Kind.FLAT
    start, end = charge.window.seconds
    with localcontext(EXACT):
        quantity = ONE if once else (Decimal(charge.units * (end - start)) / HOUR).quantize(_QUANTITY)
        in_currency = charge.price * per_unit
    unit = "Reservations" if once else "Hours"
    consumed = charge.kind in (Kind.USED, Kind.FILLER)
    return {
        "ListUnitPrice": _plain(in_currency),
        "ContractedUnitPrice": _plain(in_currency),
        "PricingCurrencyListUnitPrice": _plain(charge.price),
        "PricingCurrencyContractedUnitPrice": _plain(charge.price),
        "PricingCategory": "Standard",
        "PricingQuantity": _plain(quantity),
        "PricingUnit": unit,
        "ConsumedQuantity": _plain(quantity) if consumed else None,
        "ConsumedUnit": unit if consumed else None,
        "SkuId": f"{billed.resource_type}/{charge.kind}",
        "SkuMeter": f"{'Filled' if charge.kind is Kind.FILLER else 'Reserved'} {billed.noun}",
        "SkuPriceId": f"{billed.resource_type}/{charge.kind}/{charge.list_name}/{_plain(charge.price)}",
        "SkuPriceDetails": json.dumps({"x_PriceList": charge.list_name}),
    }


def _service(billed: Billed) -> Mapping[str, str]:
    category = _CATEGORIES.get(billed.pool or "", "Other")
    return {
        "ServiceCategory": category,
        "ServiceSubcategory": f"Other ({category})",
        "ServiceName": "Reservation",
    }


def _month(moment: datetime) -> tuple[datetime, datetime]:
    """Return the first moments of the month of a moment, and of the next one."""
    first = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return first, (first + timedelta(days=31)).replace(day=1)


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _plain(value: Decimal) -> str:
    """Return a decimal without an exponent and without zeros that say nothing."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
