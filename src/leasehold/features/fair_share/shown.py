"""What the answer about a lease that waits says of its place, from 1.3 on (feature A17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from leasehold.api import versions
from leasehold.api.lease_field import LeaseField
from leasehold.features.fair_share.line import ASSUMES, Line
from leasehold.features.fair_share.options import FairShareSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease


class InLineAnswer(TypedDict):
    """Where a lease stands among those that wait for the same, as of a moment a little ago; only while it waits.

    `position` is 1 for the first, `ahead` how many come before it, and `reason` why. `expected_at` is when it is
    expected to start, if what `assumes` says holds; null for the reason in `unknown`. Nothing of it is promised.
    """

    position: int
    ahead: int
    reason: str
    expected_at: str | None
    unknown: str | None
    assumes: str
    as_of: str


def _make(service: Service) -> Callable[[Lease], InLineAnswer | None]:
    line = Line(service)
    told = service.settings.of(FairShareSettings).place_seconds > 0

    def show(lease: Lease) -> InLineAnswer | None:
        place = line.place(lease.id) if told and lease.waits else None
        if place is None:
            return None
        return {
            "position": place.ahead + 1,
            "ahead": place.ahead,
            "reason": place.why,
            "expected_at": None if place.expected_at is None else place.expected_at.isoformat(),
            "unknown": place.unknown,
            "assumes": ASSUMES,
            "as_of": place.as_of.isoformat(),
        }

    return show


FIELDS = (LeaseField("in_line", versions.V1_3, InLineAnswer, _make),)
