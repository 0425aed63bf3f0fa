"""What the specification FOCUS 1.2 demands of a row, as far as it applies to what a reservation service has."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, str]
MANDATORY: Final = (
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd"),
    *("BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargePeriodEnd"),
    *("ChargePeriodStart", "ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingQuantity"),
    *("PricingUnit", "ProviderName", "PublisherName", "ServiceCategory", "ServiceName"),
)
NEVER_NULL: Final = tuple(
    each for each in MANDATORY if each not in ("ChargeClass", "PricingQuantity", "PricingUnit", "ChargeDescription")
)
COSTS: Final = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost", "PricingCurrencyEffectiveCost")
PRICES: Final = (
    *("ListUnitPrice", "ContractedUnitPrice"),
    *("PricingCurrencyListUnitPrice", "PricingCurrencyContractedUnitPrice"),
)
TIMES: Final = ("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd")
NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
"""Without an exponent, a sign of plus, or marks between thousands."""
VALUES: Final[Mapping[str, set[str]]] = {
    "ChargeCategory": {"Usage", "Purchase", "Tax", "Credit", "Adjustment"},
    "ChargeClass": {"", "Correction"},
    "ChargeFrequency": {"One-Time", "Recurring", "Usage-Based"},
    "CapacityReservationStatus": {"", "Used", "Unused"},
    "PricingCategory": {"", "Standard", "Dynamic", "Committed", "Other"},
    "ServiceCategory": {"Compute", "Networking", "Storage", "Other"},
}


def check_row(row: Row) -> None:
    """Raise AssertionError for a row that the specification does not allow; "" is null."""
    assert set(MANDATORY) <= row.keys()
    assert all(row[name] for name in NEVER_NULL), row
    assert all(row[name] in allowed for name, allowed in VALUES.items()), row
    for name in (*COSTS, *PRICES, "PricingQuantity", "ConsumedQuantity"):
        assert not row[name] or NUMBER.fullmatch(row[name]), (name, row[name])
    assert re.fullmatch(r"[A-Z]{3}", row["BillingCurrency"])
    _check_times(row)
    _check_prices(row)
    usage = row["ChargeCategory"] == "Usage"
    if row["CapacityReservationId"]:
        assert bool(row["CapacityReservationStatus"]) or not usage
    else:
        assert not row["CapacityReservationStatus"]
    assert bool(row["SubAccountId"]) == bool(row["SubAccountName"]) == bool(row["SubAccountType"])
    assert row["SkuId"] or not row["SkuMeter"]
    assert isinstance(json.loads(row["Tags"]), dict)


def _check_times(row: Row) -> None:
    parsed = {name: datetime.strptime(row[name], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) for name in TIMES}
    assert parsed["ChargePeriodStart"] < parsed["ChargePeriodEnd"]
    assert parsed["BillingPeriodStart"] <= parsed["ChargePeriodStart"] < parsed["BillingPeriodEnd"]


def _check_prices(row: Row) -> None:
    bought = row["ChargeCategory"] in ("Usage", "Purchase") and row["ChargeClass"] != "Correction"
    needed = ("PricingQuantity", "PricingUnit", "ListUnitPrice", "ContractedUnitPrice", "PricingCategory")
    assert not bought or all(row[name] for name in (*needed, "SkuId", "SkuPriceId")), row
    for price, cost in zip(PRICES, ("ListCost", "ContractedCost", *["PricingCurrencyEffectiveCost"] * 2), strict=True):
        if row[price]:
            assert Decimal(row[price]) >= 0
            product = Decimal(row[price]) * Decimal(row["PricingQuantity"])
            assert abs(product - Decimal(row[cost])) <= Decimal("0.000001"), row
