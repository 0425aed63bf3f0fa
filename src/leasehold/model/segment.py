"""Segments: what a reservation held of a resource, from when to when, and why that began and ended (features G8, L9).

A reservation holds a resource while an allocation that is not vacated covers the present: as long as no other
reservation could have been given it. The past never changes: a change of an allocation ends a segment at the moment of
the change, and the next segment begins there (docs/decisions/0036).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.model.allocation import Allocation


class Cause(StrEnum):
    """Why a segment began or ended."""

    GRANTED = "granted"
    """Begins: the lease was created with it."""
    IMPORTED = "imported"
    """Begins: it was allocated when Blazar's database was imported."""
    AMENDED = "amended"
    """Begins or ends: an amendment gave or took the resource, changed the amount, or moved a date in another way."""
    EXTENDED = "extended"
    """Begins or ends: an amendment moved the end of the lease to a later time."""
    HEALED = "healed"
    """Begins or ends: the resource failed, and another one replaces it."""
    SWAPPED = "swapped"
    """Begins or ends: somebody asked for another resource in place of this one."""
    MOVED = "moved"
    """Begins: a maintenance window or another lease took the place of another resource, before the lease began."""
    ENDED = "ended"
    """Ends: it reached the end that was agreed."""
    ENDED_EARLY = "ended_early"
    """Ends: an amendment moved the end of the lease to the present."""
    DROPPED = "dropped"
    """Ends: its owner dropped it, or asked for less, while the lease goes on."""
    LENT = "lent"
    """Ends: its owner lent it on to a sub-lease, until that ends."""
    RETURNED = "returned"
    """Begins: the sub-lease that had it has ended."""
    NO_SHOW = "no_show"
    """Ends: nothing ran on it some time after the start, as the reservation asked for."""
    DELETED = "deleted"
    """Ends: the lease was deleted."""


GIVEN_UP = frozenset({Cause.SWAPPED, Cause.DROPPED, Cause.LENT})
"""Why a resource was vacated that works: nothing brings it back but a request of its owner, or a sub-lease's end."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A time in which a reservation held `slots` times `demand` of a resource; `demand` None means all of it.

    `resource` is the name in the cloud (`Resource.reference`). `open` says that the resource is still held; the window
    then ends at the present. `start_cause` and `end_cause` are values of `Cause`, or None where none was recorded.
    `purpose` is that of the lease when the segment was written; while it is open, the present one.
    """

    lease_id: str
    reservation_id: str
    project_id: str
    user_id: str
    resource_type: str
    resource_number: int
    resource: str
    slots: int
    demand: Mapping[str, int] | None
    window: Window
    start_cause: str | None
    end_cause: str | None
    purpose: str | None = None
    open: bool = False

    @property
    def label(self) -> str:
        """The name that a person knows the resource by (`Resource.label`)."""
        return self.resource.rpartition("/")[2] or str(self.resource_number)

    def within(self, since: datetime | None, until: datetime | None) -> timedelta:
        """Return how long the resource was held between two moments; None means no bound."""
        start = self.window.start if since is None else max(self.window.start, since)
        end = self.window.end if until is None else min(self.window.end, until)
        return max(end - start, timedelta())


def unrecorded(held: Allocation, now: datetime) -> Window | None:
    """Return the time up to `now` in which an allocation held its resource and which is in no segment yet.

    In whole seconds; None if there is none.
    """
    start, end = held.window.seconds
    if held.recorded_until is not None:
        start = max(start, to_seconds(held.recorded_until))
    end = min(end, to_seconds(now))
    if held.left_at is not None:
        end = min(end, to_seconds(held.left_at))
    return Window.of_seconds(start, end) if start < end else None
