"""Price lists: what an hour of a resource costs, for whom it is and when; all amounts are decimals, and exact."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from leasehold.model.hours import Hours, stretches
from leasehold.model.properties import ANYTHING, Expression, matches
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

EXACT: Final = Context(prec=80, rounding=ROUND_HALF_EVEN)
"""Enough digits for all products and sums of what a price list may say: none is ever rounded."""
LONGEST_BY_THE_CLOCK: Final = timedelta(days=3 * 366)
"""Hours of the week are found day by day, so nobody asks about more days at prices that depend on them."""
ONE: Final = Decimal(1)
NOTHING: Final = Decimal(0)
PROVIDER: Final = "The operators of this cloud"
HOUR: Final = 3600
"""Seconds."""
VCPUS: Final = ("VCPU", "PCPU")
MEMORY: Final = "MEMORY_MB"
MIB_OF_GIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Goods:
    """What is paid for: one resource, or one slot of it that has this `demand`, for a reservation of this type.

    `value_of` returns the value of a property of the resource, or None.
    """

    resource_type: str
    value_of: Callable[[str], object]
    demand: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """What one hour costs: of the whole resource or of one slot, of each vCPU and of each GiB of memory of a slot.

    Each counts `used` times where something of the owner runs, as far as somebody looks. `flat` is paid once for each
    resource or slot, when it is promised. `given_up` is the share, from 0 to 1, that is paid for the time that an owner
    gives up, and `filler` the share for what somebody has without a promise.
    """

    hour: Decimal = NOTHING
    vcpu_hour: Decimal = NOTHING
    memory_gib_hour: Decimal = NOTHING
    used: Decimal = ONE
    flat: Decimal = NOTHING
    given_up: Decimal = NOTHING
    filler: Decimal = NOTHING

    def per_hour(self, demand: Mapping[str, int] | None) -> Decimal:
        """Return what an hour of one costs, before any factor."""
        has = demand or {}
        vcpus = sum(has.get(name, 0) for name in VCPUS)
        return self.hour + self.vcpu_hour * vcpus + self.memory_gib_hour * has.get(MEMORY, 0) / MIB_OF_GIB


@dataclass(frozen=True, slots=True)
class Rule:
    """The rates of resources of a type, those that have these properties, which are kept as they were written too."""

    resource_type: str
    rates: Rates
    properties: str = ""
    condition: Expression = ANYTHING

    def fits(self, goods: Goods) -> bool:
        """Say whether the rule is for these goods."""
        return goods.resource_type == self.resource_type and matches(self.condition, goods.value_of)


@dataclass(frozen=True, slots=True)
class TimeFactor:
    """In these hours of the week the price of an hour is multiplied; they are kept as they were written."""

    hours: tuple[str, ...]
    factor: Decimal

    def within(self, window: Window, zone: ZoneInfo) -> list[Window]:
        """Return the parts of a window that are in the hours, in order."""
        return stretches(map(Hours.read, self.hours), zone, window)


@dataclass(frozen=True, slots=True)
class NoticeFactor:
    """For what is promised less than so long before its start the price of an hour is multiplied."""

    less_than: timedelta
    factor: Decimal


@dataclass(frozen=True, slots=True)
class Tariff:
    """What one resource or slot costs that was promised by a list: it holds whatever becomes of the list.

    `hour` has the factor of the notice. The first of `times` that a moment is in, in `zone`, multiplies it. What no
    list has a price for is `FREE`.
    """

    list_name: str
    hour: Decimal
    zone: ZoneInfo
    times: tuple[TimeFactor, ...] = ()
    used: Decimal = ONE
    flat: Decimal = NOTHING
    given_up: Decimal = NOTHING

    @property
    def most(self) -> Decimal:
        """How many times the price of an hour is paid at most, used or not."""
        return max(ONE, self.used)

    def pieces(self, window: Window) -> list[tuple[Decimal, list[Window]]]:
        """Return the parts of a window at each factor, in order; together they are the window."""
        left, found = [window], list[tuple[Decimal, list[Window]]]()
        for each in self.times:
            rest = without(left, each.within(window, self.zone))
            found.append((each.factor, without(left, rest)))
            left = rest
        return [(factor, parts) for factor, parts in (*found, (ONE, left)) if parts]

    def seconds(self, window: Window) -> list[tuple[Decimal, int]]:
        """Return how many seconds of a window are at each factor; together they are as long as the window."""
        return [(factor, seconds) for factor, parts in self.pieces(window) if (seconds := seconds_of(parts))]

    def hour_seconds(self, window: Window) -> Decimal:
        """Return what a window costs, times 3600: that is exact, because nothing is divided."""
        with localcontext(EXACT):
            return self.hour * sum((factor * seconds for factor, seconds in self.seconds(window)), NOTHING)


FREE: Final = Tariff("", NOTHING, ZoneInfo("UTC"))


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of what is promised from one moment until another, None for no end; the first rule that fits counts.

    So does of `notices` the shortest that the notice is below.
    """

    name: str
    start: datetime
    end: datetime | None
    zone: ZoneInfo
    rules: tuple[Rule, ...]
    times: tuple[TimeFactor, ...] = ()
    notices: tuple[NoticeFactor, ...] = ()

    def tariff(self, goods: Goods, notice: timedelta) -> Tariff:
        """Return what goods cost that are promised so long before their start; nothing if no rule is for them."""
        rates = self._rates(goods)
        if rates is None:
            return FREE
        near = sorted((each.less_than, each.factor) for each in self.notices if notice < each.less_than)
        with localcontext(EXACT):
            hour = rates.per_hour(goods.demand) * (near[0][1] if near else ONE)
        made = partial(Tariff, self.name, hour, self.zone, self.times)
        return made(used=rates.used, flat=rates.flat, given_up=rates.given_up)

    def without_a_promise(self, goods: Goods) -> Tariff:
        """Return what goods cost that somebody has without a promise."""
        rates = self._rates(goods)
        if rates is None:
            return FREE
        with localcontext(EXACT):
            return Tariff(self.name, rates.per_hour(goods.demand) * rates.filler, self.zone, self.times)

    def _rates(self, goods: Goods) -> Rates | None:
        return next((each.rates for each in self.rules if each.fits(goods)), None)


@dataclass(frozen=True, slots=True)
class Prices:
    """All lists, oldest first, none beside another; the unit of amounts, and to how many decimals they are shown.

    `provider` is who sends the bills, and `billed` the currency of these with how much of it a unit is; None: the unit
    is a currency.
    """

    unit: str
    places: int
    lists: tuple[PriceList, ...] = ()
    provider: str = PROVIDER
    billed: tuple[str, Decimal] | None = None

    def at(self, moment: datetime) -> PriceList | None:
        """Return the list by which something is promised at a moment; None: it costs nothing."""
        return next((each for each in self.lists if _covers(each, moment)), None)

    def quote(self, goods: Goods, moment: datetime) -> Callable[[timedelta], Tariff]:
        """Return what says what goods cost that are promised at this moment so long before their start."""
        found = self.at(moment)
        return lambda notice: FREE if found is None else found.tariff(goods, notice)

    def without_a_promise(self, goods: Goods, moment: datetime) -> Tariff:
        """Return what goods cost that were granted at this moment without a promise."""
        found = self.at(moment)
        return FREE if found is None else found.without_a_promise(goods)


def overlapping(lists: Sequence[PriceList]) -> tuple[PriceList, PriceList] | None:
    """Return two lists that are valid at the same moment; None: there are none."""
    for one, other in pairwise(sorted(lists, key=lambda each: each.start)):
        if one.end is None or one.end > other.start:
            return one, other
    return None


def _covers(found: PriceList, moment: datetime) -> bool:
    return found.start <= moment and (found.end is None or moment < found.end)


def seconds_of(windows: Iterable[Window]) -> int:
    return sum(each.seconds[1] - each.seconds[0] for each in windows)


def without(windows: Sequence[Window], others: Sequence[Window]) -> list[Window]:
    """Return what is left of windows beside others; both are in order, and no two of either meet."""
    found, rest = [], list(reversed(others))
    for each in windows:
        start = each.start
        while rest and rest[-1].end <= start:
            rest.pop()
        for other in reversed(rest):
            if other.start >= each.end:
                break
            if start < other.start:
                found.append(Window(start, other.start))
            start = other.end
        if start < each.end:
            found.append(Window(start, each.end))
    return found
