"""Published offers: what an owner or a lessee lends for a window, to whoever claims it (features I2 to I4).

They hold nothing, unlike held offers (`model/held_offer.py`). An owner offers a resource (decision 0108), a lessee some
hosts of its lease (decision 0111).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.model.resource import Resource
    from leasehold.model.terms.notice import Notice


class PublishedStatus(StrEnum):
    """What has become of a published offer."""

    AVAILABLE = "available"
    EXPIRED = "expired"
    """Its window is over."""
    DELETED = "deleted"
    ERROR = "error"
    """The resource or the lease is gone, or the resource belongs to another project now."""


@dataclass(frozen=True, slots=True)
class OfferedPart:
    """How many hosts of a reservation its lease offers, and what is known of them without asking the cloud.

    `until` is the end of the lease, None if that is over or deleted; the reservation `has` so many hosts now, and so
    many are `lent` by claims of this offer. `capacity` is what each of the hosts has at least.
    """

    lease_id: str
    reservation_id: str
    amount: int
    until: datetime | None = None
    has: int = 0
    lent: int = 0
    capacity: Mapping[str, int] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """How many can still be claimed, if nothing runs on them."""
        return max(0, min(self.amount - self.lent, self.has))


@dataclass(frozen=True, slots=True)
class PublishedOffer:
    """A resource or a `part` of a lease that `project_id` lends in a window, to all projects or to `for_project` alone.

    `resource` is as it is now, None if it was purged. Who claims it gets the `notice` before it is taken back.
    """

    id: str
    name: str
    project_id: str
    user_id: str
    window: Window
    for_project: str | None
    created_at: datetime
    resource_number: int | None = None
    resource: Resource | None = None
    deleted_at: datetime | None = None
    part: OfferedPart | None = None
    notice: Notice | None = None

    def status(self, now: datetime) -> PublishedStatus:
        """Return what has become of it."""
        if self.deleted_at is not None:
            return PublishedStatus.DELETED
        if self.window.end <= now:
            return PublishedStatus.EXPIRED
        return PublishedStatus.AVAILABLE if self._there(now) else PublishedStatus.ERROR

    def _there(self, now: datetime) -> bool:
        """Say whether what is offered is still its project's."""
        if self.part is not None:
            return self.part.until is not None and self.part.until > now
        held = self.resource
        return held is not None and held.deleted_at is None and held.owner == self.project_id

    def open_to(self, project_id: str, now: datetime) -> bool:
        """Say whether a project may claim it."""
        return self.status(now) is PublishedStatus.AVAILABLE and self.for_project in (None, project_id)

    def visible_to(self, project_id: str, now: datetime) -> bool:
        """Say whether members of a project see it."""
        return self.project_id == project_id or self.open_to(project_id, now)

    def claimable(self, now: datetime) -> Window | None:
        """Return in which window hosts of a lease can be claimed, if any can; a claim of them begins now."""
        part = self.part
        if part is None or part.until is None or not part.left or self.status(now) is not PublishedStatus.AVAILABLE:
            return None
        start = max(self.window.start, from_seconds(to_seconds(now)))
        end = min(self.window.end, part.until)
        return Window(start, end) if start < end else None


@dataclass(frozen=True, slots=True)
class Publication:
    """An offer that a client publishes: the resource by its id, and the rest as in `PublishedOffer`."""

    name: str
    resource_type: str
    resource_id: str
    start: datetime
    end: datetime
    for_project: str | None = None
    notice: Notice | None = None


@dataclass(frozen=True, slots=True)
class PartPublication:
    """An offer of so many hosts of a lease that a client publishes, and the rest as in `PublishedOffer`.

    `end` None means the end of the lease, and `reservation_id` None its only reservation of hosts.
    """

    name: str
    amount: int
    start: datetime
    end: datetime | None = None
    reservation_id: str | None = None
    for_project: str | None = None
    notice: Notice | None = None


@dataclass(frozen=True, slots=True)
class ClaimDraft:
    """A part of a published offer that a client asks for; `fingerprint`, `dry_run` and `purpose` as in `LeaseDraft`.

    `start` None means now, or the start of the offer if that is later; `end` None means the end of what is free then.
    `amount` is how many hosts of a lease, one without it; an offer of an owner is one resource.
    """

    name: str
    start: datetime | None = None
    end: datetime | None = None
    fingerprint: str = ""
    dry_run: bool = False
    amount: int | None = None
    purpose: str | None = None
