"""Which leases a list shows (feature L2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.states import LeaseStatus


@dataclass(frozen=True, slots=True)
class LeaseFilter:
    """The leases of this name, user and purpose, with one of these statuses, that end, start and lapse so.

    None or empty means any. With `deleted` those that were deleted, and no others.
    """

    name: str | None = None
    statuses: frozenset[LeaseStatus] = frozenset()
    ends_after: datetime | None = None
    starts_before: datetime | None = None
    user_id: str | None = None
    deleted: bool = False
    lapses_after: datetime | None = None
    purpose: str | None = None


EVERY_LEASE = LeaseFilter()
