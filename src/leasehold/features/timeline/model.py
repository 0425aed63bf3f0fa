"""The timeline: what resources do when, in a window that may lie in the past (issue 14, decision 0095)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from leasehold.model.membership import Membership
from leasehold.model.resource import Health
from leasehold.model.windows import OPEN_END, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.model.event_log import Cursor
    from leasehold.model.resource import Resource
    from leasehold.model.windows import Window


class RowState(StrEnum):
    """How a resource fares now."""

    OK = "ok"
    FAILED = "failed"
    DOWN = "down"
    """Down, for less than the grace period."""
    RETURNING = "returning"
    """It works again, and goes first to those who had lost it."""
    DISABLED = "disabled"
    """An administrator has disabled it here."""
    MAINTENANCE = "maintenance"
    """It is disabled in the cloud."""
    HELD = "held"
    """It is held for a lease of the type best_effort."""
    SHARED = "shared"
    DRAWING = "drawing"
    GIVING_BACK = "giving_back"
    REMOVED = "removed"
    """It is not enrolled any more."""
    ASLEEP = "asleep"
    """It is off, and is woken for its next lease."""
    PLANNED = "planned"
    """The cloud does not have it yet."""


class BarKind(StrEnum):
    """What a bar is; the first is all that callers learn of what others have."""

    TAKEN = "taken"
    LEASE = "lease"
    OFFER = "offer"
    MAINTENANCE = "maintenance"
    LEAD = "lead"
    """Before the start of its lease, for the work of the start."""
    GRACE = "grace"
    """After the end of its lease, while servers live on."""
    EMPTYING = "emptying"
    """It has ended, and is not released yet."""
    VACATED = "vacated"
    """Its reservation has left it: it failed or was given up, and servers may remain."""


class Bar(NamedTuple):
    """A time in which a row is taken, in seconds since the epoch, cut to the window.

    `row` is a position in the rows, `lease` one in the leases, None for what the caller may not know. `amount` is what
    is taken of the row, None for the whole. `end` None: until it is released, which nobody knows. `substitute`: healing
    gave it.
    """

    row: int
    start: int
    end: int | None
    kind: BarKind
    lease: int | None = None
    amount: tuple[tuple[str, int], ...] | None = None
    substitute: bool = False


class ShownLease(NamedTuple):
    """A lease of the bars, as far as the database still knows it.

    `name`, `status`, `start` and `end` are None if it was purged; `end` also if it has none. `movable` is until when
    another resource may take the place of one that it has; None if none may. Moments are seconds since the epoch.
    `degraded`: something of it is missing. `at_risk`: it has not started, and what it has may not be there then.
    """

    id: str
    project_id: str
    user_id: str
    name: str | None = None
    status: str | None = None
    start: int | None = None
    end: int | None = None
    deleted: bool = False
    movable: int | None = None
    degraded: bool = False
    at_risk: bool = False

    @classmethod
    def of(cls, lease: Any, start: datetime, end: datetime, movable: int | None = None) -> Self:
        """Return a lease, or a row of one, with its dates."""
        return cls(
            id=lease.id,
            project_id=lease.project_id,
            user_id=lease.user_id,
            name=lease.name,
            status=lease.status,
            start=to_seconds(start),
            end=None if end == OPEN_END else to_seconds(end),
            deleted=lease.deleted_at is not None,
            movable=movable,
            degraded=bool(lease.degraded),
            at_risk=bool(lease.at_risk),
        )


class Unplaced(NamedTuple):
    """What a lease was to have that had not begun: so much of a type, and nobody recorded of which resources."""

    lease_id: str
    resource_type: str
    amount: int


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A resource as the caller may see it.

    `id` is the one of the API, or else a word that means nothing to other projects; `name` is then None. `type` is a
    position in the types. `values` are what it has, discovered or set, without what identifies it. `reason` is why it
    is disabled, or why it was not drawn. Former states are not recorded: `state` is then None.
    """

    id: str
    name: str | None
    type: int
    state: RowState | None
    capacity: Mapping[str, int]
    values: Mapping[str, Any]
    reason: str | None


@dataclass(frozen=True, slots=True)
class RowType:
    """A type under which resources are enrolled; `identified` says whether the caller may know which is which.

    `cleaning` is for how many seconds a resource is free between two bars, and `lead` for how many before its start a
    lease has its resources.
    """

    name: str
    identified: bool
    cleaning: int
    lead: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The answer: rows and their bars, which are sorted by row and start.

    `cursor` is where the event log goes on after what this shows; `next` the id of the last row if there are more;
    `tag` changes whenever the answer does, but for `now`. `as_of` None means that it is the present one; `unplaced` is
    what leases were to have as of that moment, each with the position of the lease.
    """

    window: Window
    now: datetime
    cursor: Cursor
    types: Sequence[RowType]
    rows: Sequence[TimelineRow]
    bars: Sequence[Bar]
    leases: Sequence[ShownLease]
    next: str | None
    tag: str
    as_of: datetime | None = None
    unplaced: Sequence[tuple[int, Unplaced]] = ()


_HEALTH = {each: RowState(each.value) for each in (Health.FAILED, Health.DOWN, Health.ASLEEP, Health.PLANNED)}


def state_of(resource: Resource) -> RowState:
    """Return the state that says most about a resource: what keeps it longest from being leased."""
    if resource.deleted_at is not None:
        return RowState.REMOVED
    if resource.membership is not Membership.RESERVATION:
        return RowState(resource.membership.value)
    if resource.health in _HEALTH:
        return _HEALTH[resource.health]
    if resource.disabled:
        return RowState.DISABLED
    return _unless_ok(resource)


def _unless_ok(resource: Resource) -> RowState:
    if resource.health is Health.DISABLED:
        return RowState.MAINTENANCE
    if not resource.admitted:
        return RowState.RETURNING
    return RowState.OK if resource.held_for is None else RowState.HELD
