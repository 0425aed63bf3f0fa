"""The options of offers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class OfferSettings:
    """An offer that does not say it is held for `hold`, and none for longer than `longest_hold`."""

    hold: timedelta = timedelta(minutes=5)
    longest_hold: timedelta = timedelta(minutes=15)


_SECONDS = cfg.IntOpt(
    "offer_seconds",
    default=int(OfferSettings().hold.total_seconds()),
    min=1,
    max=24 * 3600,
    help="For how many seconds an offer holds its resources if its request does not say it; if that is more than "
    "`longest_offer_seconds`, for as long as that.",
)
_LONGEST = cfg.IntOpt(
    "longest_offer_seconds",
    default=int(OfferSettings().longest_hold.total_seconds()),
    min=1,
    max=24 * 3600,
    help="For how many seconds an offer may hold its resources at most.",
)


def _read(manager: Any) -> OfferSettings:
    longest = timedelta(seconds=manager.longest_offer_seconds)
    return OfferSettings(min(timedelta(seconds=manager.offer_seconds), longest), longest)


OPTIONS = Options("manager", [_SECONDS, _LONGEST], OfferSettings, _read)
