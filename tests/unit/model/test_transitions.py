"""The table of transitions, walked through from a new lease on; the contract's moves are stated here once more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import pytest

from leasehold.features.audit.agreement import AGREEING
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.transitions import TABLE, ForbiddenTransitionError, Trigger, can, check, move
from leasehold.model.windows import Window
from tests.harness.database_checks import COMBINATIONS
from tests.stateful.moves import ALLOWED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DAY = datetime(2031, 5, 1, tzinfo=UTC)
PARTS = ("a", "b")
OF_WAITING = (Trigger.GRANTED, Trigger.GAVE_UP, Trigger.TIMED_OUT)
OF_OFFERS = (Trigger.ACCEPTED, Trigger.LAPSED)
UNBEGUN = (LeaseStatus.IN_PROGRESS, LeaseStatus.OFFERED)
"""The statuses, beside PENDING, in which a lease may be made."""
CHOICES: tuple[tuple[str, ...], ...] = ((), ("a",), ("a", "b"))


def lease(hours: int = 1) -> Lease:
    """Return a new lease with two reservations."""
    events = tuple(Event(kind, "l", kind, DAY, EventStatus.UNDONE) for kind in EventType)
    parts = tuple(Reservation(name, "l", "physical:host", "r", {}) for name in PARTS)
    window = Window(DAY, DAY + timedelta(hours=hours))
    return Lease("l", "n", "u", "p", window, LeaseStatus.PENDING, reservations=parts, events=events)


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


@cache
def walk(follow: Callable[[Lease], Iterator[Lease]]) -> list[tuple[Lease, set[str]]]:
    """Return every combination of statuses that `follow` leads to, with the states that follow it at once."""
    found: dict[tuple[object, ...], tuple[Lease, set[str]]] = {}
    ahead = [lease(), lease(0), *(replace(lease(), status=each) for each in UNBEGUN)]
    while ahead:
        here = ahead.pop()
        events, parts = (tuple(each.status for each in some) for some in (here.events, here.reservations))
        key = here.window, here.status, events, parts
        if key not in found:
            after = list(follow(here))
            found[key] = (here, {each.status.value for each in after})
            ahead += after
    return list(found.values())


@pytest.mark.slow
def test_a_lease_moves_between_states_as_the_contract_says() -> None:
    moves: dict[str, set[str]] = {}
    for here, after in walk(steps):
        moves.setdefault(here.status.value, set()).update(after - {here.status.value})
    assert moves == {name: set(text.split()) for name, text in ALLOWED["leases"].items()}


def test_every_row_is_taken_from_some_combination() -> None:
    taken = {row_of(here, trigger) for here, _ in walk(steps) for trigger in Trigger}
    assert taken - {None} == set(range(len(TABLE)))


@pytest.mark.parametrize("trigger", Trigger)
def test_what_a_row_does_may_be_saved(trigger: Trigger) -> None:
    saved = 0
    for here, _ in walk(steps):
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


@pytest.mark.slow
def test_every_change_that_the_contract_does_not_know_is_refused() -> None:
    """Each status of each combination is replaced by every other one; a trigger without a row moves nothing."""
    for here, _ in walk(steps):
        for status in set(LeaseStatus) - {here.status, *ALLOWED["leases"][here.status].split()}:
            refused(here, replace(here, status=status))
        for part in here.reservations:
            for new in set(ReservationStatus) - {part.status, *ALLOWED["reservations"][part.status].split()}:
                refused(here, here.with_reservations({part.id}, status=new))
        for kind in EventType:
            old = status_of(here, kind)
            for late in set(EventStatus) - {old, *ALLOWED[kind][old].split()}:
                refused(here, here.with_event(kind, status=late))
        for trigger in Trigger:
            if row_of(here, trigger) is None:
                with pytest.raises(ForbiddenTransitionError):
                    move(here, trigger)


def refused(before: Lease, after: Lease) -> None:
    with pytest.raises(ForbiddenTransitionError):
        check(before, after)


def test_a_moved_warning_comes_with_another_change() -> None:
    failed = move(move(lease(), Trigger.START_DUE), Trigger.START_FAILED, done=(), refused=PARTS)
    failed = failed.with_event(EventType.BEFORE_END, status=EventStatus.DONE)
    check(failed, move(move(failed, Trigger.WARNING_MOVED), Trigger.RETRIED))


def test_the_audit_accepts_the_combinations_that_the_contract_allows() -> None:
    allowed = {name: tuple(map(frozenset, each)) for name, each in COMBINATIONS.items()}
    assert {state.value: (each.parts, each.start, each.end) for state, each in AGREEING.items()} == allowed


def test_steps_of_workers_lead_to_combinations_that_the_contract_allows() -> None:
    """A worker completes only the step that it began, so a step that is due comes before what it leads to."""
    for here, _ in walk(worked):
        parts, start, end = COMBINATIONS[here.status]
        assert {part.status for part in here.reservations} <= parts, here
        assert status_of(here, EventType.START) in start, here
        assert status_of(here, EventType.END) in end, here


def status_of(here: Lease, kind: EventType) -> EventStatus:
    event = here.event(kind)
    assert event
    assert event.status
    return event.status


def worked(here: Lease) -> Iterator[Lease]:
    """Yield what follows a lease when workers, its owner and the clock act in a possible order."""
    start, end = status_of(here, EventType.START), status_of(here, EventType.END)
    for trigger in (Trigger.DELETED, Trigger.GONE, Trigger.AMENDED, *OF_WAITING, *OF_OFFERS):
        if can(here.status, trigger):
            yield move(here, trigger)
    if here.status in (LeaseStatus.DELETING, *UNBEGUN) or end is EventStatus.DONE:
        return
    if start is not EventStatus.DONE and end is EventStatus.UNDONE:
        begun = move(here, Trigger.START_DUE)
        yield begun
        yield move(begun, Trigger.STARTED)
        for done in CHOICES:
            yield move(begun, Trigger.START_FAILED, done=done, refused=set(PARTS) - set(done))
    if here.status is LeaseStatus.ERROR and end is EventStatus.UNDONE:
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


def test_a_failed_start_keeps_what_is_in_use_active() -> None:
    """An amendment must not take away the resources of a reservation that has started."""
    before = lease()
    statuses = ReservationStatus.ACTIVE, ReservationStatus.PENDING, ReservationStatus.ERROR
    parts = tuple(replace(before.reservations[0], id=status, status=status) for status in statuses)
    after = move(
        replace(before, status=LeaseStatus.STARTING, reservations=parts),
        Trigger.START_FAILED,
        done=(),
        refused=statuses,
    )
    assert [part.status.value for part in after.reservations] == ["active", "error", "error"]
