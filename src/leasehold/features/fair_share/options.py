"""Options of fair share: `[fair_share]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from oslo_config import cfg

from leasehold.conf.errors import unusable
from leasehold.conf.options import YEAR, Options, read_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GROUP: Final = "fair_share"
LARGEST: Final = 1e9
"""The largest share, and the largest weight."""
_NUMBER = re.compile(r"[0-9]{1,10}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class FairShareSettings:
    """How use is counted, and what shares there are.

    Use counts half after each `half_life`, and is counted every `refresh`. `shares` are those of projects, by their id,
    and of users in one, by `PROJECT/USER`; who is not named has 1. `weights` are what one resource of a type counts; 1
    if it is not named. Where a lease stands is found out again after `place_seconds`; 0: nobody is told.
    """

    half_life: timedelta = timedelta(days=7)
    refresh: timedelta = timedelta(minutes=5)
    shares: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    place_seconds: float = 10.0

    def share(self, project_id: str, user_id: str | None = None) -> float:
        """Return the share of a project, or of a user in it."""
        return self.shares.get(project_id if user_id is None else f"{project_id}/{user_id}", 1.0)

    def weight(self, resource_type: str) -> float:
        """Return what one resource of a type counts."""
        return self.weights.get(resource_type, 1.0)


_OPTIONS = [
    cfg.IntOpt(
        "half_life_seconds",
        min=3600,
        max=YEAR,
        help="What was held so many seconds ago counts half as much as what is held now. `[manager] waiting_order = "
        "fair_share` puts those first that have held the least for their share; `borrow` those of the project with the "
        "fewest granted leases, and of equal ones who asks for the least. All options of this group are the same for "
        "all APIs and managers.",
    ),
    cfg.IntOpt(
        "refresh_seconds",
        min=10,
        max=24 * 3600,
        help="One of the managers counts every so many seconds what was held, up to a minute ago.",
    ),
    cfg.ListOpt(
        "shares",
        default=[],
        help="Shares of projects, and of users within a project, as `PROJECT=3, PROJECT/USER=0.5`, by their ids. Who "
        "is not named has 1. Who has 0 comes last after anything was held.",
    ),
    cfg.ListOpt(
        "weight_by_type",
        default=[],
        help="What one resource of a type counts, as `physical:host=1, virtual:floatingip=0`. A type that is not named "
        "has 1.",
    ),
    cfg.FloatOpt(
        "place_seconds",
        min=0.0,
        max=3600.0,
        help="The answer about a lease that waits says where it stands, and when it is expected to start, whatever "
        "the order is. Each API finds that out for all leases that wait, at most every so many seconds. 0: no answer "
        "says it.",
    ),
]


def _read(group: Any) -> FairShareSettings:
    """Return the settings; raises ConfigurationError for a share or a weight that is no number."""
    shares = _numbers("shares", group.shares, "PROJECT=SHARE or PROJECT/USER=SHARE, such as 4f2a=3")
    weights = _numbers("weight_by_type", group.weight_by_type, "TYPE=WEIGHT, such as physical:host=1")
    return read_fields(FairShareSettings, group, shares=shares, weights=weights)


def _numbers(option: str, texts: Iterable[str], form: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.rpartition("="))
        value = float(number) if _NUMBER.fullmatch(number) else LARGEST + 1
        if not name or value > LARGEST:
            raise unusable(f"[{GROUP}] {option} has {text!r}: write {form}; numbers are from 0 to {LARGEST:.0f}.")
        if name in found:
            raise unusable(f"[{GROUP}] {option} names {name} twice: name it once.")
        found[name] = value
    return found


OPTIONS = Options(GROUP, _OPTIONS, FairShareSettings, _read)
