"""The option of published offers."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class LendingSettings:
    """How many open published offers a project may have."""

    published_offers: int = 1000


_OFFERS = cfg.IntOpt(
    "published_offers",
    default=LendingSettings().published_offers,
    min=0,
    help="How many published offers a project may have that are neither deleted nor over; 0 means that nobody can "
    "publish one.",
)
OPTIONS = Options("manager", [_OFFERS], LendingSettings, lambda manager: LendingSettings(manager.published_offers))
