"""Published offers: what an owner lends for a window, to whoever claims it (features I2 and I3, decision 0108).

They hold nothing, unlike held offers (`held_offer.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.resource import Resource
    from leasehold.model.windows import Window


class PublishedStatus(StrEnum):
    """What has become of a published offer."""

    AVAILABLE = "available"
    EXPIRED = "expired"
    """Its window is over."""
    DELETED = "deleted"
    ERROR = "error"
    """The resource is gone, or belongs to another project now."""


@dataclass(frozen=True, slots=True)
class PublishedOffer:
    """A resource that its owner, `project_id`, lends in a window, to all projects or to `for_project` alone.

    `resource` is as it is now, None if it was purged.
    """

    id: str
    name: str
    project_id: str
    user_id: str
    resource_number: int
    resource: Resource | None
    window: Window
    for_project: str | None
    created_at: datetime
    deleted_at: datetime | None = None

    def status(self, now: datetime) -> PublishedStatus:
        """Return what has become of it."""
        if self.deleted_at is not None:
            return PublishedStatus.DELETED
        if self.window.end <= now:
            return PublishedStatus.EXPIRED
        held = self.resource
        owned = held is not None and held.deleted_at is None and held.owner == self.project_id
        return PublishedStatus.AVAILABLE if owned else PublishedStatus.ERROR

    def open_to(self, project_id: str, now: datetime) -> bool:
        """Say whether a project may claim it."""
        return self.status(now) is PublishedStatus.AVAILABLE and self.for_project in (None, project_id)

    def visible_to(self, project_id: str, now: datetime) -> bool:
        """Say whether members of a project see it."""
        return self.project_id == project_id or self.open_to(project_id, now)


@dataclass(frozen=True, slots=True)
class Publication:
    """An offer that a client publishes: the resource by its id, and `for_project` as in `PublishedOffer`."""

    name: str
    resource_type: str
    resource_id: str
    start: datetime
    end: datetime
    for_project: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimDraft:
    """A part of a published offer that a client asks for; `fingerprint` and `dry_run` are as in a `LeaseDraft`.

    `start` None means now, or the start of the offer if that is later; `end` None means the end of what is free then.
    """

    name: str
    start: datetime | None = None
    end: datetime | None = None
    fingerprint: str = ""
    dry_run: bool = False
