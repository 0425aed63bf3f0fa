"""The prices as everybody sees them, from 1.3 on."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.models.base import answer
from leasehold.api.policies.base import READER_OR_ADMIN, Rule
from leasehold.api.route import V1_3
from leasehold.api.views.shown import shown
from leasehold.features.price import budget_routes, charge_routes
from leasehold.features.price.model import Rates
from leasehold.features.price.options import PriceSettings

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.price.model import PriceList
    from leasehold.features.price.model import Rule as PriceRule


class PriceRuleAnswer(TypedDict):
    """What is paid for a resource of a type with these properties; the first rule that fits a resource counts.

    `hour` is for the whole resource or for one slot of it, `vcpu_hour` and `memory_gib_hour` for what a slot has; where
    something runs, an hour is multiplied by `used`. `flat` is paid once for each slot, `given_up` is the share that is
    paid for the time that an owner has given up, and `filler` the share for what a filler has. Amounts are decimals as
    text.
    """

    resource_type: str
    properties: str
    hour: str
    vcpu_hour: str
    memory_gib_hour: str
    used: str
    flat: str
    given_up: str
    filler: str


class TimeFactorAnswer(TypedDict):
    """In these hours of the week, in the time zone of the list, an hour is multiplied; the first that fits counts."""

    hours: list[str]
    factor: str


class NoticeFactorAnswer(TypedDict):
    """What is asked for less than so many hours before its start is multiplied."""

    less_than_hours: int
    factor: str


PriceListAnswer = TypedDict(
    "PriceListAnswer",
    {
        "name": str,
        "from": str,
        "until": str | None,
        "time_zone": str,
        "rules": list[PriceRuleAnswer],
        "times": list[TimeFactorAnswer],
        "notices": list[NoticeFactorAnswer],
    },
)
PriceListAnswer.__doc__ = "The prices of what is promised from one moment until another, null for no end."

PriceLists = answer(
    "PriceLists",
    "The answer about prices: their unit, null if nothing has a price, and to how many decimals a sum is rounded.",
    unit=str | None,
    places=int,
    price_lists=list[PriceListAnswer],
)

_PATH: Final = "/v1/prices"
GET: Final = Rule("leasehold:prices:get", READER_OR_ADMIN, "Show what resources cost.")


def list_prices(call: Call) -> Reply:
    """Show the price lists that are valid now, or will be; a lease keeps the prices at which it was promised."""
    prices, now = call.service.settings.of(PriceSettings).prices, call.service.now()
    if prices is None:
        return Reply({"unit": None, "places": 0, "price_lists": []})
    lists = [_show(each) for each in prices.lists if each.end is None or each.end > now]
    return Reply({"unit": prices.unit, "places": prices.places, "price_lists": lists})


def _show(found: PriceList) -> PriceListAnswer:
    return {
        "name": found.name,
        "from": found.start.isoformat(),
        "until": None if found.end is None else found.end.isoformat(),
        "time_zone": found.zone.key,
        "rules": [_rule(each) for each in found.rules],
        "times": [{"hours": list(each.hours), "factor": str(each.factor)} for each in found.times],
        "notices": [
            {"less_than_hours": each.less_than // timedelta(hours=1), "factor": str(each.factor)}
            for each in found.notices
        ],
    }


def _rule(found: PriceRule) -> PriceRuleAnswer:
    rates = {each.name: str(getattr(found.rates, each.name)) for each in fields(Rates)}
    return shown(PriceRuleAnswer, found, **rates)


ROUTES = (V1_3("GET", _PATH, list_prices, (GET,), None, PriceLists), *budget_routes.ROUTES, *charge_routes.ROUTES)
