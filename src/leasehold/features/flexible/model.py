"""Flexible leases: so much time within a window, at a place that may change until the lease is frozen (idea 7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from leasehold.model.errors import ConflictError
from leasehold.model.hours import Hours, read_zone, stretches
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.windows import Window, to_minute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.model.terms.heal_policy import HealPolicy

MOST_PIECES: Final = 24
"""Into how many leases one request is cut at most."""
_MINUTE, _HOUR, _LEAST = timedelta(minutes=1), timedelta(hours=1), timedelta.resolution


class FlexibleChangedError(ConflictError):
    """Another request has changed the flexible lease meanwhile, or it was moved."""

    code = "leasehold.flexible.changed"

    def __init__(self) -> None:
        super().__init__("The lease was changed or moved meanwhile. Read it again, and repeat what is still wanted.")


class NotFlexibleError(ConflictError):
    """The lease is moved no more: it has started, or it has got other dates than it was given as a flexible one."""

    code = "leasehold.flexible.fixed"

    def __init__(self) -> None:
        super().__init__(
            "The lease has started, or its dates were set by an amendment, so it is not flexible any more. Amend it as "
            "any other lease, with PUT /v1/leases."
        )


class NoPiecesError(ConflictError):
    """The pieces of a request do not fit in its window."""

    code = "leasehold.flexible.no_pieces"

    def __init__(self, free: timedelta) -> None:
        super().__init__(
            f"It does not fit in {MOST_PIECES} pieces that last that long or longer: {free / _HOUR:.4g} hours are free "
            "for such. Ask for less, for shorter pieces, or for a later latest.",
            details={"free_seconds": free // timedelta(seconds=1)},
        )


class Strategy(StrEnum):
    """Which of the places that fit a flexible lease gets."""

    SOONEST = "soonest"
    """The first one."""
    SLEEP = "sleep"
    """The one that leaves its hosts the longest time without anything, in which they can sleep."""


class State(StrEnum):
    """Whether a flexible lease may be moved."""

    FLEXIBLE = "flexible"
    FROZEN = "frozen"
    """It starts soon, or has started."""
    FIXED = "fixed"
    """An amendment has given it other dates."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Where a flexible lease may be: for `duration` from `earliest` to `latest`, in the `hours` of a time zone.

    Without hours it may be at any time. It is moved no more from `frozen` before its start on.
    """

    earliest: datetime
    latest: datetime
    duration: timedelta
    frozen: timedelta
    strategy: Strategy = Strategy.SOONEST
    hours: tuple[str, ...] = ()
    time_zone: str = "UTC"

    def stretches(self, since: datetime, but: Iterable[Window] = ()) -> Sequence[Window]:
        """Return when it may be from a moment on: each begins on a whole minute, and is long enough for all of it.

        It may not be in the windows `but`.
        """
        start = max(self.earliest, since)
        if start >= self.latest:
            return []
        parts = stretches(map(Hours.read, self.hours), read_zone(self.time_zone), Window(start, self.latest))
        for other in but:
            parts = [part for each in parts for part in each.without(other)]
        found = ((to_minute(each.start + _MINUTE - _LEAST), each.end) for each in parts)
        return [Window(begin, end) for begin, end in found if begin + self.duration <= end]

    def allow(self, window: Window) -> bool:
        """Say whether the lease may be there."""
        return window.duration == self.duration and any(each.contains(window) for each in self.stretches(self.earliest))


@dataclass(frozen=True, slots=True)
class FlexibleDraft:
    """A requested flexible lease, which may be cut into pieces of at least `piece`; the rest is as in `LeaseDraft`."""

    name: str
    terms: Terms
    piece: timedelta | None = None
    reservations: tuple[Mapping[str, Any], ...] = ()
    heal_policy: HealPolicy | None = None
    reminders: tuple[int, ...] | None = None
    purpose: str | None = None
    use_disabled: bool = False
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A lease of a request, as it is now."""

    id: str
    window: Window
    status: LeaseStatus


@dataclass(frozen=True, slots=True)
class Flexible:
    """A flexible lease, by the id of the lease: its terms, where it was placed, and how often it was moved.

    `others` are the leases that were made with it of one request and are not deleted, by id: no two of them overlap.
    """

    id: str
    project_id: str
    terms: Terms
    start_at: datetime
    created_at: datetime
    moves: int = 0
    moved_at: datetime | None = None
    others: Mapping[str, Piece] = field(default_factory=dict, compare=False)

    @property
    def window(self) -> Window:
        """Where it was placed."""
        return Window(self.start_at, self.start_at + self.terms.duration)

    @property
    def frozen_at(self) -> datetime:
        """From when on it is not moved any more."""
        return self.start_at - self.terms.frozen

    def state(self, lease: Lease, now: datetime) -> State:
        """Return whether it may be moved."""
        if lease.window != self.window:
            return State.FIXED
        unstarted = lease.status is LeaseStatus.PENDING and not lease.reached(EventType.START)
        return State.FLEXIBLE if unstarted and now < self.frozen_at else State.FROZEN

    def stretches(self, now: datetime) -> Sequence[Window]:
        """Return when it may be if it is moved now: it is told at least `frozen` before it starts."""
        return self.terms.stretches(now + self.terms.frozen, (each.window for each in self.others.values()))

    def may_move(self, lease: Lease, window: Window, now: datetime) -> bool:
        """Say whether it may be moved to a window now, where its terms allow it and it starts no sooner than told."""
        soonest = now + self.terms.frozen
        return self.state(lease, now) is State.FLEXIBLE and window.start >= soonest and self.terms.allow(window)
