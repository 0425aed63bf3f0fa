"""The past of a lease, on every database: each state is kept once, in its event or, if no event tells of it, alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.past.lease_then import change_at, has_changes
from leasehold.db.tables import lease_states
from leasehold.features.lease_history.store import list_changes
from leasehold.model.actor import Actor, acting
from leasehold.model.states import EventType, LeaseStatus
from tests.counts.meter import Meter
from tests.db.examples import NOW, hour, hours, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.model.lease import Lease

CHANGES: Sequence[Callable[[Lease, int], Lease]] = (
    lambda lease, number: replace(lease, name=f"name {number} ü"),
    lambda lease, number: replace(lease, window=hours(number, number + 5)),
    lambda lease, number: replace(lease, status_reason=f"because {number}"),
    lambda lease, number: replace(lease, reminders=(3600, number), at_risk=bool(number % 2)),
    lambda lease, number: lease.with_event(EventType.START, time=hour(number)),
    lambda lease, number: lease.with_reservations(None, request={"min": number}, missing=number),
    lambda lease, number: lease.with_reservations({lease.reservations[0].id}, cloud={"aggregate_id": number}),
)
"""Changes of a lease that keep its status; the number is 10 or more, and another one each time."""
STEPS = st.lists(st.tuples(st.sampled_from(CHANGES), st.booleans(), st.integers(0, 2)), max_size=12)
"""Each with whether an event tells of it, and after how many hours it comes."""


def bare(lease: Lease) -> Lease:
    """Return the lease as a history has it: without its allocations, with its events in an order of their own."""
    parts = tuple(replace(part, allocations=()) for part in lease.reservations)
    return replace(lease, reservations=parts, events=tuple(sorted(lease.events, key=lambda event: event.id)))


def begin(connection: Connection) -> Lease:
    made = write(connection, parts=2, status=LeaseStatus.ACTIVE, created_at=NOW)
    put_event(connection, "lease.create", made, NOW)
    return made


def change(
    connection: Connection, ident: str, how: Callable[[Lease, int], Lease], at: int, *, number: int, told: bool
) -> Lease:
    before = find_lease(connection, ident, lock=True)
    assert before is not None
    after = save_lease(connection, before, how(before, number), hour(at))
    if told:
        put_event(connection, "lease.update", after, hour(at))
    return after


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_each_state_is_found_at_each_moment_until_the_next(
    db: Database, steps: list[tuple[Callable[[Lease, int], Lease], bool, int]]
) -> None:
    made = db.transact(begin)
    at, seen = 0, {0: _found(db, made)}
    for number, (how, told, later) in enumerate(steps, start=10):
        at += later
        db.transact(partial(change, ident=made.id, how=how, number=number, at=at, told=told))
        seen[at] = _found(db, made)
    with db.reading() as connection:
        assert change_at(connection, made.id, hour(-1)) is None
        for moment in range(at + 1):
            then = change_at(connection, made.id, hour(moment))
            last = max(each for each in seen if each <= moment)
            assert then is not None
            assert then.whole
            assert bare(then.lease) == seen[last]
        changes = list_changes(connection, made.id)
        for first, since in enumerate(changes):
            for most in (None, 1, 3):
                page = list_changes(connection, made.id, since.id, most)
                assert page == changes[first : None if most is None else first + most]
        assert list_changes(connection, made.id, most=2) == changes[:2]
    generations = [each.lease.generation for each in changes]
    assert generations == list(range(1, len(steps) + 2))
    assert [each.type is None for each in changes] == [False, *(not told for _, told, _ in steps)]


def test_a_change_that_an_event_tells_of_takes_no_row_more(db: Database) -> None:
    made = db.transact(begin)
    db.transact(partial(change, ident=made.id, how=CHANGES[0], number=1, at=1, told=True))
    assert _kept(db) == 0
    db.transact(partial(change, ident=made.id, how=CHANGES[0], number=2, at=2, told=False))
    assert _kept(db) == 1


def test_a_transaction_that_is_rolled_back_or_run_again_leaves_no_state(db: Database) -> None:
    made = db.transact(begin)

    def fail(connection: Connection) -> None:
        change(connection, made.id, CHANGES[0], 1, number=1, told=False)
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        db.transact(fail)
    assert _kept(db) == 0
    db.transact(lambda connection: connection.execute(select(1)))
    assert _kept(db) == 0


def test_who_has_asked_is_recorded_of_the_lease_that_is_named_alone(db: Database) -> None:
    made, other = db.transact(begin), db.transact(begin)
    with acting(Actor("bob", "alt", made.id)):
        for each in (made, other):
            for told in (True, False):
                db.transact(partial(change, ident=each.id, how=CHANGES[0], number=told, at=1, told=told))
    with db.reading() as connection:
        of_made, of_other = (list_changes(connection, each.id) for each in (made, other))
    assert [each.actor for each in of_made] == [None, Actor("bob", "alt"), Actor("bob", "alt")]
    assert [each.actor for each in of_other] == [None, None, None]


def test_a_page_begins_at_any_of_the_events_of_one_transaction(db: Database) -> None:
    made = db.transact(begin)

    def tell_three_times(connection: Connection) -> None:
        after = change(connection, made.id, CHANGES[0], 1, number=1, told=False)
        for event_type in ("lease.renamed", "lease.reminders", "lease.update"):
            put_event(connection, event_type, after, hour(1))

    db.transact(tell_three_times)
    db.transact(partial(change, ident=made.id, how=CHANGES[0], number=2, at=1, told=False))
    with db.reading() as connection:
        changes = list_changes(connection, made.id)
        assert len(changes) == 5
        for first, since in enumerate(changes):
            assert list_changes(connection, made.id, since.id, 2) == changes[first : first + 2]


def test_a_page_reads_no_more_changes_than_it_has(db: Database) -> None:
    made = db.transact(begin)
    for number in range(20):
        db.transact(partial(change, ident=made.id, how=CHANGES[0], number=number, at=1, told=number % 2 == 0))
    with db.reading() as connection:
        fourth = list_changes(connection, made.id)[3]
        for wanted in (None, fourth.id):
            cost = Meter(db.engine).of(partial(list_changes, connection, made.id, wanted, 4))
            # Of each kind, and where the page begins; SQLite does not say.
            assert cost.get("rows", 0) <= 2 * 4 + 1


@pytest.mark.parametrize("wrong", ["", "e", "s", "e0", "s0", "x1", "e-1", "e٣", "e1x", f"e{10**18}", "s9999"])
def test_an_unknown_change_begins_nothing(db: Database, wrong: str) -> None:
    made, other = db.transact(begin), db.transact(begin)
    with db.reading() as connection:
        theirs = list_changes(connection, other.id)[0].id
        assert [list_changes(connection, made.id, each) for each in (wrong, theirs)] == [[], []]


def test_a_lease_of_which_nothing_is_recorded_has_no_past(db: Database) -> None:
    made = db.transact(write)
    with db.reading() as connection:
        assert (has_changes(connection, made.id), list_changes(connection, made.id)) == (False, [])
        assert change_at(connection, made.id, NOW) is None


def _found(db: Database, made: Lease) -> Lease:
    with db.reading() as connection:
        found = find_lease(connection, made.id)
    assert found is not None
    return bare(found)


def _kept(db: Database) -> Any:
    with db.reading() as connection:
        return connection.execute(select(func.count()).select_from(lease_states)).scalar_one()
