"""The table of transitions, walked through from a new lease on; the contract's moves are stated here once more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.model.agreement import AGREEING
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.transitions import TABLE, ForbiddenTransitionError, Trigger, can, check, move
from leasehold.model.windows import Window
from tests.stateful.moves import ALLOWED

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = datetime(2031, 5, 1, tzinfo=UTC)
PARTS = ("a", "b")
CHOICES: tuple[tuple[str, ...], ...] = ((), ("a",), ("a", "b"))


def lease(hours: int = 1) -> Lease:
    """Return a new lease with two reservations."""
    events = tuple(Event(kind, "l", kind, DAY, EventStatus.UNDONE) for kind in EventType)
    parts = tuple(Reservation(name, "l", "physical:host", "r", {}) for name in PARTS)
    window = Window(DAY, DAY + timedelta(hours=hours))
    return Lease("l", "n", "u", "p", window, LeaseStatus.PENDING, reservations=parts, events=events)


def key_of(here: Lease) -> tuple[object, ...]:
    events, parts = tuple(each.status for each in here.events), tuple(each.status for each in here.reservations)
    return here.window, here.status, events, parts


def row_of(here: Lease, trigger: Trigger) -> int | None:
    """Return which row of the table is taken."""
    fits = (row.trigger is trigger and here.status in row.states and row.guard(here) for row in TABLE)
    return next((index for index, fit in enumerate(fits) if fit), None)


def steps(before: Lease) -> Iterator[Lease]:
    """Yield every lease that one trigger leads to, whatever has succeeded or was refused."""
    for trigger in Trigger:
        if row_of(before, trigger) is not None:
            for done, refused in ((None, ()), (("a",), ("b",)), ((), PARTS)):
                yield move(before, trigger, done=done, refused=refused)


def reachable() -> dict[tuple[object, ...], tuple[Lease, set[str]]]:
    """Return every combination of statuses that the table leads to, with the states that follow it at once."""
    found: dict[tuple[object, ...], tuple[Lease, set[str]]] = {}
    ahead = [lease(), lease(0)]
    while ahead:
        here = ahead.pop()
        key = (
            here.window,
            here.status,
            tuple(e.status for e in here.events),
            tuple(p.status for p in here.reservations),
        )
        if key not in found:
            after = list(steps(here))
            found[key] = (here, {each.status.value for each in after})
            ahead += after
    return found


FOUND = reachable()


def test_a_lease_moves_between_states_as_the_contract_says() -> None:
    moves: dict[str, set[str]] = {}
    for here, after in FOUND.values():
        moves.setdefault(here.status.value, set()).update(after - {here.status.value})
    assert moves == {name: set(text.split()) for name, text in ALLOWED["leases"].items()}


def test_every_row_is_taken_from_some_combination() -> None:
    taken = {row_of(here, trigger) for here, _ in FOUND.values() for trigger in Trigger}
    assert taken - {None} == set(range(len(TABLE)))


@pytest.mark.parametrize("trigger", Trigger)
def test_what_a_row_does_may_be_saved(trigger: Trigger) -> None:
    saved = 0
    for here, _ in FOUND.values():
        if row_of(here, trigger) is not None:
            check(here, move(here, trigger, done=("a",), refused=("b",)))
            saved += 1
    assert saved


def test_a_step_that_no_row_makes_is_not_saved() -> None:
    pending = lease()
    active = move(move(pending, Trigger.START_DUE), Trigger.STARTED)
    with pytest.raises(ForbiddenTransitionError, match="PENDING"):
        check(pending, replace(pending, status=LeaseStatus.ACTIVE))
    with pytest.raises(ForbiddenTransitionError):
        check(pending, active)
    with pytest.raises(ForbiddenTransitionError):
        check(active, replace(move(active, Trigger.END_DUE), status=LeaseStatus.TERMINATED))
    with pytest.raises(ForbiddenTransitionError):
        check(active, active.with_reservations({"a"}, status=ReservationStatus.PENDING))
    with pytest.raises(ForbiddenTransitionError):
        check(active, active.with_event(EventType.START, status=EventStatus.UNDONE))
    with pytest.raises(ForbiddenTransitionError):
        move(active, Trigger.START_FAILED)
    check(active, replace(active, name="renamed"))


def test_a_moved_warning_comes_with_another_change() -> None:
    failed = move(move(lease(), Trigger.START_DUE), Trigger.START_FAILED, done=(), refused=PARTS)
    failed = failed.with_event(EventType.BEFORE_END, status=EventStatus.DONE)
    check(failed, move(move(failed, Trigger.WARNING_MOVED), Trigger.RETRIED))


def test_steps_of_workers_lead_to_combinations_that_the_audit_accepts() -> None:
    """A worker completes only the step that it began, so a step that is due comes before what it leads to."""
    ahead, seen = [lease(), lease(0)], set()
    while ahead:
        here = ahead.pop()
        allowed = AGREEING[here.status]
        start, end = here.event(EventType.START), here.event(EventType.END)
        assert start is not None
        assert end is not None
        assert start.status in allowed.start, here
        assert end.status in allowed.end, here
        assert {part.status for part in here.reservations} <= allowed.parts, here
        key = (
            here.window,
            here.status,
            tuple(e.status for e in here.events),
            tuple(p.status for p in here.reservations),
        )
        if key in seen:
            continue
        seen.add(key)
        ahead += worked(here)


def worked(here: Lease) -> Iterator[Lease]:
    """Yield what follows a lease when workers, its owner and the clock act in a possible order."""
    ended = here.event(EventType.END)
    over = here.status is LeaseStatus.DELETING or (ended is not None and ended.status is EventStatus.DONE)
    for trigger in (Trigger.DELETED, Trigger.GONE, Trigger.AMENDED):
        if can(here.status, trigger):
            yield move(here, trigger)
    if over:
        return
    start = here.event(EventType.START)
    assert start is not None
    tried = ended is not None and ended.status is not EventStatus.UNDONE
    if start.status is not EventStatus.DONE and not tried:
        begun = move(here, Trigger.START_DUE)
        yield begun
        yield move(begun, Trigger.STARTED)
        for done in CHOICES:
            yield move(begun, Trigger.START_FAILED, done=done, refused=set(PARTS) - set(done))
    if here.status is LeaseStatus.ERROR and ended is not None and ended.status is EventStatus.UNDONE:
        # After an end that failed, the time of the lease is over, and only its name changes.
        yield move(here, Trigger.RETRIED)
    if here.status is LeaseStatus.ACTIVE:
        for trigger in (Trigger.WARNING_DUE, Trigger.WARNED, Trigger.WARNING_FAILED, Trigger.WARNING_MOVED):
            yield move(here, trigger)
    ending = move(here, Trigger.END_DUE)
    yield ending
    yield move(ending, Trigger.ENDED)
    for done in CHOICES:
        yield move(ending, Trigger.END_FAILED, done=done, refused=set(PARTS) - set(done))
