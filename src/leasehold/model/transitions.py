"""The life of a lease as one table: states, trigger, guard, what becomes of events and reservations, next state.

`move` applies a row; nothing else changes the status of a lease, a reservation or an event. `check` refuses to save a
change that no row makes. A new timer or a new way to end is a row here, and a function that a worker runs. Contract
lifecycle §1; what is ours beyond it: failed work is tried again (decision 0026), and a lease may end without having
started.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from leasehold.model.lease import with_fields
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation

S = TypeVar("S", bound=StrEnum)
# The table is read by the states of leases.
_PENDING, _STARTING, _ACTIVE = LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE
_TERMINATING, _TERMINATED, _DELETING = LeaseStatus.TERMINATING, LeaseStatus.TERMINATED, LeaseStatus.DELETING
_IN_PROGRESS, _TIMEDOUT, _OFFERED = LeaseStatus.IN_PROGRESS, LeaseStatus.TIMEDOUT, LeaseStatus.OFFERED
_ERROR = LeaseStatus.ERROR
_START, _WARNING, _END = EventType.START, EventType.BEFORE_END, EventType.END
OWN = "own"
"""All events that the client has added, in a row of the table."""


class Trigger(StrEnum):
    """What happens to a lease; the words are for the drawing in the documentation."""

    START_DUE = "start is due"
    STARTED = "start is complete"
    START_FAILED = "start fails"
    WARNING_DUE = "warning is due"
    WARNED = "warning is complete"
    WARNING_FAILED = "warning fails"
    WARNING_MOVED = "warning is moved"
    END_DUE = "end is due"
    ENDED = "end is complete"
    ENDED_INCOMPLETE = "end is complete, the warning's work is not"
    END_FAILED = "end fails"
    AMENDED = "amended"
    RETRIED = "amended after a failure"
    SWAPPED = "a resource is swapped"
    TOLD = "an event of its owner is due"
    TAKEN_BACK = "what it has is taken back, with notice"
    DROPPED = "a dropped reservation is gone"
    DELETED = "deleted"
    GONE = "deletion is complete"
    GRANTED = "granted after it has waited"
    GAVE_UP = "the last try fails"
    TIMED_OUT = "its deadline comes"
    ACCEPTED = "the offer is accepted"
    LAPSED = "the offer lapses, or is given up"


@dataclass(frozen=True, slots=True)
class Becomes(Generic[S]):
    """A new status, for what has one of the old ones; None means any."""

    target: S
    sources: frozenset[S] | None = None

    def applies(self, status: S | None) -> bool:
        """Say whether something with this status gets the new one."""
        return self.sources is None or status in self.sources


def always(_lease: Lease) -> bool:
    """Any lease."""
    return True


def start_has_failed(lease: Lease) -> bool:
    """The start has failed before."""
    return _status(lease, _START) is EventStatus.ERROR


def warning_has_failed(lease: Lease) -> bool:
    """The warning has failed before."""
    return _status(lease, _WARNING) is EventStatus.ERROR


def end_has_failed(lease: Lease) -> bool:
    """The end has failed before."""
    return _status(lease, _END) is EventStatus.ERROR


def never_started(lease: Lease) -> bool:
    """The start was never complete, nor failed, and the lease's time has passed."""
    return _status(lease, _START) in _OPEN and bool(lease.window.duration)


def cut_to_nothing(lease: Lease) -> bool:
    """The owner cut the lease to nothing before it started."""
    return _status(lease, _START) in _OPEN and not lease.window.duration


@dataclass(frozen=True, slots=True)
class Transition:
    """One row: a lease in one of `states`, for which `guard` holds, goes to `next` when `trigger` happens.

    `next` None means that it stays in its state. `done` and `refused` are what becomes of the reservations for which
    the step succeeded, or was refused.
    """

    trigger: Trigger
    states: frozenset[LeaseStatus]
    next: LeaseStatus | None = None
    guard: Callable[[Lease], bool] = always
    events: Mapping[str, Becomes[EventStatus]] = field(default_factory=dict)
    done: Becomes[ReservationStatus] | None = None
    refused: Becomes[ReservationStatus] | None = None


def _in(*states: LeaseStatus) -> frozenset[LeaseStatus]:
    return frozenset(states)


_OPEN = frozenset({EventStatus.UNDONE, EventStatus.IN_PROGRESS})
_STARTS, _ENDS = _in(_STARTING, _ERROR), _in(_TERMINATING, _ERROR)
_GOES_ON, _IS_DONE, _FAILS = Becomes(EventStatus.IN_PROGRESS), Becomes(EventStatus.DONE), Becomes(EventStatus.ERROR)
_NEVER_DONE = Becomes(EventStatus.ERROR, _OPEN)
_MADE_GOOD = Becomes(EventStatus.DONE, frozenset({EventStatus.IN_PROGRESS, EventStatus.ERROR}))
_BEGUN_FAILS = Becomes(EventStatus.ERROR, frozenset({EventStatus.IN_PROGRESS}))
_LIVE = frozenset({ReservationStatus.PENDING, ReservationStatus.ACTIVE, ReservationStatus.ERROR})
"""What is deleted stays deleted."""
_RUNS = Becomes(ReservationStatus.ACTIVE, _LIVE)
_CLEARED = Becomes(ReservationStatus.DELETED)
_NEVER_BEGUN: Mapping[str, Becomes[EventStatus]] = {_START: _FAILS, _END: _IS_DONE}

TABLE: tuple[Transition, ...] = (
    Transition(Trigger.START_DUE, _in(_ERROR), guard=start_has_failed),
    Transition(
        Trigger.START_DUE,
        _in(_PENDING, _STARTING, _ERROR),
        _STARTING,
        events={_START: _GOES_ON},
    ),
    Transition(Trigger.STARTED, _STARTS, _ACTIVE, events={_START: _IS_DONE}, done=_RUNS),
    Transition(
        Trigger.START_FAILED,
        _STARTS,
        _ERROR,
        events={_START: _NEVER_DONE},
        done=_RUNS,
        # A reservation in use stays active: an amendment must not take its resources away.
        refused=Becomes(ReservationStatus.ERROR, frozenset({ReservationStatus.PENDING, ReservationStatus.ERROR})),
    ),
    Transition(Trigger.WARNING_DUE, _in(_ACTIVE), guard=warning_has_failed),
    Transition(
        Trigger.WARNING_DUE,
        _in(_ACTIVE),
        events={_WARNING: Becomes(EventStatus.IN_PROGRESS, frozenset({EventStatus.UNDONE}))},
    ),
    Transition(Trigger.WARNED, _in(_ACTIVE), events={_WARNING: _MADE_GOOD}),
    Transition(Trigger.WARNING_FAILED, _in(_ACTIVE), events={_WARNING: _BEGUN_FAILS}),
    Transition(
        Trigger.WARNING_MOVED,
        _in(_PENDING, _ACTIVE, _ERROR, _IN_PROGRESS),
        events={_WARNING: Becomes(EventStatus.UNDONE)},
    ),
    Transition(Trigger.END_DUE, _in(_ERROR), guard=end_has_failed),
    Transition(
        Trigger.END_DUE,
        _in(_PENDING, _STARTING, _ACTIVE, _TERMINATING, _ERROR),
        _TERMINATING,
        events={_END: _GOES_ON},
    ),
    Transition(
        # After an end that has failed the start is in ERROR, or done.
        Trigger.ENDED,
        _in(_TERMINATING),
        _ERROR,
        guard=never_started,
        events={_START: _FAILS, _END: _IS_DONE},
        done=_CLEARED,
    ),
    Transition(
        Trigger.ENDED,
        _in(_TERMINATING),
        _TERMINATED,
        guard=cut_to_nothing,
        events={_START: _IS_DONE, _END: _IS_DONE},
        done=_CLEARED,
    ),
    Transition(
        Trigger.ENDED,
        _ENDS,
        _TERMINATED,
        events={_WARNING: _MADE_GOOD, _END: _IS_DONE},
        done=_CLEARED,
    ),
    Transition(
        Trigger.ENDED_INCOMPLETE,
        _ENDS,
        _TERMINATED,
        events={_WARNING: _FAILS, _END: _IS_DONE},
        done=_CLEARED,
    ),
    Transition(
        Trigger.END_FAILED,
        _ENDS,
        _ERROR,
        events={_START: _NEVER_DONE, _END: _BEGUN_FAILS},
        done=_CLEARED,
        refused=Becomes(ReservationStatus.ERROR, _LIVE),
    ),
    Transition(Trigger.AMENDED, _in(_PENDING, _ACTIVE, _TERMINATED, _ERROR, _IN_PROGRESS, _TIMEDOUT)),
    Transition(
        Trigger.RETRIED,
        _in(_ERROR),
        _STARTING,
        events={_START: _GOES_ON},
        # Not the lease: part of it may be in the cloud.
        done=Becomes(ReservationStatus.PENDING, frozenset({ReservationStatus.ERROR})),
    ),
    # Not one that starts or ends: its step works with the resources that it has.
    Transition(Trigger.SWAPPED, _in(_PENDING, _ACTIVE)),
    Transition(
        Trigger.TOLD,
        _in(_PENDING, _STARTING, _ACTIVE, _ERROR),
        events={OWN: Becomes(EventStatus.DONE, frozenset({EventStatus.UNDONE}))},
    ),
    Transition(Trigger.TAKEN_BACK, _in(_PENDING, _STARTING, _ACTIVE, _ERROR)),
    Transition(Trigger.DROPPED, _in(_PENDING, _STARTING, _ACTIVE, _ERROR), done=_CLEARED),
    # What uses nothing is gone at once.
    Transition(Trigger.DELETED, _in(_STARTING, _ACTIVE, _TERMINATING, _ERROR), _DELETING),
    Transition(
        Trigger.GONE,
        _in(_PENDING, _TERMINATED, _DELETING, _IN_PROGRESS, _TIMEDOUT),
        _DELETING,
        done=_CLEARED,
    ),
    Transition(Trigger.GRANTED, _in(_IN_PROGRESS), _PENDING),
    Transition(Trigger.GAVE_UP, _in(_IN_PROGRESS), _ERROR, events=_NEVER_BEGUN, done=_CLEARED),
    Transition(Trigger.TIMED_OUT, _in(_IN_PROGRESS), _TIMEDOUT, events=_NEVER_BEGUN, done=_CLEARED),
    Transition(Trigger.ACCEPTED, _in(_OFFERED), _PENDING),
    Transition(Trigger.LAPSED, _in(_OFFERED), _DELETING, done=_CLEARED),
)
"""The rows of a trigger are tried in this order; the first whose state and guard fit is taken."""


class ForbiddenTransitionError(RuntimeError):
    """A status would change in a way that no row of the table allows: a defect, so nothing is saved."""


def can(status: LeaseStatus, trigger: Trigger) -> bool:
    """Say whether the table has a row for the trigger in this state."""
    return any(row.trigger is trigger and status in row.states for row in TABLE)


def move(
    lease: Lease,
    trigger: Trigger,
    *,
    done: Collection[str] | None = None,
    refused: Collection[str] = (),
    told: Collection[str] = (),
) -> Lease:
    """Return the lease after a trigger; `done` and `refused` are reservations by id, None means all of them.

    `told` are the events of its owner that are due, by id. Raises ForbiddenTransitionError if the table has no row for
    it.
    """
    row = _row(lease, trigger)
    for kind, change in row.events.items():
        due = {event.id for event in lease.events if (event.id in told if kind == OWN else event.type == kind)}
        due = {event.id for event in lease.events if event.id in due and change.applies(event.status)}
        lease = lease.with_events(due, status=change.target) if due else lease
    for change_of_part, idents in ((row.refused, refused), (row.done, done)):
        if change_of_part is not None:
            parts = _parts_of(lease, trigger, change_of_part)
            concerned = {part.id for part in parts if idents is None or part.id in idents}
            mine = {part.id for part in lease.reservations if change_of_part.applies(part.status)}
            lease = lease.with_reservations(concerned & mine, status=change_of_part.target)
    return with_fields(lease, status=row.next or lease.status)


def gone(lease: Lease, why: Trigger, now: datetime) -> Lease:
    """Return a lease that queries no longer return; its rows stay for history (feature L9)."""
    return replace(move(lease, why), status_reason=None, deleted_at=now)


def _parts_of(lease: Lease, trigger: Trigger, change: Becomes[ReservationStatus]) -> Collection[Reservation]:
    """Return the reservations that a trigger may change: one that was dropped neither starts nor fails."""
    if trigger is Trigger.DROPPED:
        return [part for part in lease.reservations if part.dropped]
    return lease.reservations if change.target is ReservationStatus.DELETED else lease.kept


def _row(lease: Lease, trigger: Trigger) -> Transition:
    for row in TABLE:
        if row.trigger is trigger and lease.status in row.states and row.guard(lease):
            return row
    message = f"Lease {lease.id} is {lease.status}: the table of transitions has no row for {trigger.value!r}."
    raise ForbiddenTransitionError(message)


def check(before: Lease, after: Lease) -> None:
    """Raise ForbiddenTransitionError if a status differs and no row leads from one lease to the other.

    A moved warning may come with any other change.
    """
    if _statuses(before) == _statuses(after):
        return
    if _status(after, _WARNING) is EventStatus.UNDONE and can(before.status, Trigger.WARNING_MOVED):
        before = move(before, Trigger.WARNING_MOVED)
    if not any(_explains(row, before, after) for row in TABLE):
        message = f"Lease {before.id} may not change from {_statuses(before)} to {_statuses(after)}."
        raise ForbiddenTransitionError(message)


def _explains(row: Transition, before: Lease, after: Lease) -> bool:
    """Say whether every status that differs differs as the row says."""
    if before.status not in row.states or after.status != (row.next or before.status):
        return False
    events = zip(before.events, after.events, strict=True)
    parts = zip(before.reservations, after.reservations, strict=True)
    own = row.events.get(OWN)
    of_event = {str(kind): row.events.get(kind) for kind in EventType}
    return all(_led(old.status, new.status, of_event.get(old.type, own)) for old, new in events) and all(
        _led(old.status, new.status, row.done) or _led(old.status, new.status, row.refused) for old, new in parts
    )


def _led(old: S | None, new: S | None, change: Becomes[S] | None) -> bool:
    return old == new or (change is not None and new == change.target and change.applies(old))


def _statuses(lease: Lease) -> tuple[str, tuple[str | None, ...], tuple[str, ...]]:
    parts = tuple(part.status.value for part in lease.reservations)
    return lease.status.value, tuple(event.status for event in lease.events), parts


def _status(lease: Lease, kind: EventType) -> EventStatus | None:
    event = lease.event(kind)
    return None if event is None else event.status
