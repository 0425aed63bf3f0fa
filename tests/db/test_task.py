"""Tasks: only the claimer of a task works on it, and no due task is lost; one manager holds a periodic lock."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from leasehold.db.periodic_lock import add_periodic_lock, keep_periodic_lock, take_periodic_lock
from leasehold.db.tables import tasks
from leasehold.db.task import (
    END_NOTICE,
    LONGEST_ERROR,
    Claim,
    add_task,
    add_task_once,
    claim_end_notice,
    claim_tasks,
    finish_task,
    hurry_task,
    next_due,
    postpone_task,
    remove_task,
    renew_claims,
    still_ours,
)
from tests.db.examples import NOW, at_once, hour, ident

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Row

    from leasehold.db.store import Database

LASTS = timedelta(minutes=30)


def add(db: Database, *subjects: str, due: datetime = NOW, project: str | None = None, kind: str = "lease") -> None:
    for subject in subjects:
        db.transact(partial(add_task, kind=kind, subject=subject, due_at=due, project_id=project))


def claim(db: Database, hours_from_now: float = 0, most: int = 10, claimer: str | None = None) -> Sequence[Claim]:
    name = claimer or ident()
    return db.transact(lambda connection: claim_tasks(connection, name, hour(hours_from_now), LASTS, most))


def claimed(db: Database, hours_from_now: float = 0, most: int = 10) -> list[str]:
    """Claim tasks and return their subjects."""
    return [each.subject for each in claim(db, hours_from_now, most)]


def finish(db: Database, mine: Claim, due: datetime | None = None, **more: Any) -> None:
    db.transact(lambda connection: finish_task(connection, mine, due, **more))


def hurry(db: Database, subject: str, due: datetime = NOW) -> bool:
    return db.transact(lambda connection: hurry_task(connection, "lease", subject, due))


def postpone(db: Database, mine: Claim, due: datetime, error: str) -> None:
    db.transact(lambda connection: postpone_task(connection, mine, due, error))


def row(db: Database, subject: str = "a") -> Row[Any]:
    with db.reading() as connection:
        return connection.execute(select(tasks).where(tasks.c.subject == subject)).one()


def ours(db: Database, mine: Claim) -> bool:
    return db.transact(lambda connection: still_ours(connection, mine))


# ---------------------------------------------------------------- claiming


def test_what_is_due_is_claimed_longest_due_first(db: Database) -> None:
    for subject, age in (("b", 1), ("c", 2), ("a", 0), ("later", -1)):
        add(db, subject, due=hour(-age))
    assert [(each.subject, each.due_at, each.attempts) for each in claim(db)] == [
        ("c", hour(-2), 1),
        ("b", hour(-1), 1),
        ("a", hour(0), 1),
    ]


def test_a_project_with_many_due_tasks_delays_nobody_elses(db: Database) -> None:
    add(db, *(f"r{number}" for number in range(9)), project="rush", due=hour(-2))
    add(db, "h0", "h1", due=hour(-1.5))
    add(db, "q0", "q1", project="quiet", due=hour(-1))
    add(db, "l0", project="last", due=hour(0))
    assert claimed(db, most=4) == ["r0", "h0", "q0", "l0"]
    assert claimed(db, most=4) == ["r1", "h1", "q1", "r2"]
    assert claimed(db) == ["r3", "r4", "r5", "r6", "r7", "r8"]
    assert claimed(db) == []


def test_a_project_gets_its_own_tasks_in_the_order_in_which_they_are_due(db: Database) -> None:
    for subject, age in (("late", 1), ("early", 3), ("between", 2)):
        add(db, subject, project="rush", due=hour(-age))
    assert claimed(db, most=2) == ["early", "between"]


def test_a_claim_that_ran_out_is_free_for_anybody(db: Database) -> None:
    add(db, "a")
    [first] = claim(db)
    assert claim(db, 0.5) == []
    [second] = claim(db, 0.6)
    assert second.attempts == 2
    assert not ours(db, first)
    assert ours(db, second)


def test_a_renewed_claim_lasts_longer_and_a_lost_one_is_not_won_back(db: Database) -> None:
    add(db, "a", "b")
    mine = claim(db, claimer="me")
    lost = mine[0]
    for _ in range(2):
        db.transact(lambda connection: renew_claims(connection, [mine[1].id], {"me"}, hour(2)))
    [theirs] = claim(db, 1)
    assert theirs.subject == lost.subject
    db.transact(lambda connection: renew_claims(connection, [each.id for each in mine], {"me"}, hour(9)))
    assert row(db, "a").claim_until == hour(1) + LASTS
    assert row(db, "b").claim_until == hour(9)
    assert [ours(db, each) for each in (*mine, theirs)] == [False, True, True]


@pytest.mark.slow
def test_workers_never_claim_the_same_task(db: Database) -> None:
    """Each task is claimed once, whether it belongs to a project or to none."""
    many, projects = 200, ("rush", "quiet", "last", None)
    rows = [
        {"kind": "lease", "subject": str(number), "due_at": NOW, "attempts": 0, "project_id": projects[number % 4]}
        for number in range(many)
    ]
    db.transact(lambda connection: connection.execute(insert(tasks), rows))

    def work(own: Database, _number: int) -> list[int]:
        got: list[int] = []
        while claims := claim(own, most=3):
            got.extend(each.id for each in claims)
        return got

    numbers = [each for got in at_once(db.engine, 6, work) for each in got]
    assert len(set(numbers)) == len(numbers)
    # A worker that loses every race in a round finds nothing and stops; the next claim takes the remaining tasks.
    while claims := claim(db, most=many):
        numbers.extend(each.id for each in claims)
    assert len(set(numbers)) == len(numbers) == many


def test_end_notices_are_claimed_apart_one_at_a_time_and_removed_by_their_claimer(db: Database) -> None:
    def notice(hours_from_now: float = 0) -> Claim | None:
        return db.transact(lambda connection: claim_end_notice(connection, ident(), hour(hours_from_now), LASTS))

    def remove(mine: Claim) -> bool:
        return db.transact(lambda connection: remove_task(connection, mine))

    add(db, "b", due=hour(-1), kind=END_NOTICE)
    add(db, "a", due=hour(-2), kind=END_NOTICE)
    add(db, "later", due=hour(1), kind=END_NOTICE)
    with db.reading() as connection:
        assert next_due(connection, NOW) is None
    assert claimed(db) == []
    first, second = notice(), notice()
    assert first is not None
    assert second is not None
    assert [first.subject, second.subject] == ["a", "b"]
    assert notice() is None
    again = notice(0.6)
    assert again is not None
    assert (again.subject, again.attempts) == ("a", 2)
    assert [remove(each) for each in (first, again, again, second)] == [False, True, False, True]


def test_a_notice_that_is_made_due_while_it_is_delivered_is_not_removed(db: Database) -> None:
    def deliver(hours_from_now: int) -> None:
        mine = db.transact(lambda connection: claim_end_notice(connection, ident(), hour(hours_from_now), LASTS))
        assert mine is not None
        if hours_from_now == 0:
            db.transact(lambda connection: hurry_task(connection, END_NOTICE, "a", hour(1)))
        assert db.transact(lambda connection: remove_task(connection, mine))

    add(db, "a", kind=END_NOTICE)
    deliver(0)
    assert row(db).claimed_by is None
    deliver(1)
    with db.reading() as connection:
        assert connection.execute(select(tasks)).all() == []


# ---------------------------------------------------------------- finishing


def test_a_finished_task_is_due_again_when_it_says_and_has_not_failed(db: Database) -> None:
    add(db, "a")
    finish(db, claim(db)[0], hour(1))
    assert claim(db, 0.9) == []
    [again] = claim(db, 1)
    assert again.attempts == 1


def test_a_finished_task_with_nothing_due_waits_until_somebody_makes_it_due(db: Database) -> None:
    add(db, "a")
    finish(db, claim(db)[0])
    assert claim(db, 1000) == []
    assert hurry(db, "a", hour(1))
    assert claimed(db, 1) == ["a"]


def test_a_failed_task_counts_its_attempts_until_it_succeeds(db: Database) -> None:
    add(db, "a")
    for attempt in range(1, 4):
        [mine] = claim(db, attempt)
        assert mine.attempts == attempt
        postpone(db, mine, NOW, "no route to host")
        assert row(db).last_error == "no route to host"
    finish(db, claim(db)[0])
    assert (row(db).attempts, row(db).last_error, row(db).claimed_by) == (0, None, None)


def test_an_error_longer_than_anybody_reads_is_cut(db: Database) -> None:
    add(db, "a")
    finish(db, claim(db)[0], error="\U0001f525" * 70_000, attempts=1)
    assert row(db).last_error == "\U0001f525" * LONGEST_ERROR


def test_who_lost_the_claim_finishes_nothing(db: Database) -> None:
    add(db, "a")
    [lost] = claim(db)
    [taken] = claim(db, 1)
    before = row(db)
    finish(db, lost, hour(5), error="late")
    assert row(db) == before
    finish(db, taken)
    finish(db, lost, hour(5), error="late")
    assert (row(db).due_at, row(db).last_error) == (None, None)


def test_a_claim_on_a_task_that_is_gone_is_not_ours(db: Database) -> None:
    gone = Claim(4711, "lease", "a", "me", 1, NOW)
    assert not ours(db, gone)
    finish(db, gone, NOW)


# ---------------------------------------------------------------- making due


def test_a_subject_has_one_task_of_a_kind(db: Database) -> None:
    add(db, "a")
    add(db, "a", kind="host")
    with pytest.raises(IntegrityError):
        add(db, "a")


def test_hurrying_a_failing_task_makes_it_due_at_once(db: Database) -> None:
    add(db, "a")
    postpone(db, claim(db)[0], hour(9), "x")
    hurry(db, "a")
    [again] = claim(db)
    assert again.attempts == 1


def test_hurrying_leaves_the_claim_of_whoever_is_at_work(db: Database) -> None:
    add(db, "a")
    [mine] = claim(db)
    hurry(db, "a", hour(0.1))
    assert ours(db, mine)
    assert claim(db, 0.1) == []


def test_hurrying_says_whether_there_is_such_a_task(db: Database) -> None:
    add(db, "a")
    assert [hurry(db, subject) for subject in "aab"] == [True, True, False]


def test_adding_once_writes_a_task_or_makes_it_due(db: Database) -> None:
    for due in (NOW, NOW, hour(1)):
        db.transact(lambda connection: add_task_once(connection, "host", "7", due))  # noqa: B023 - runs at once.
        assert row(db, "7").due_at == due


def test_the_next_task_due_is_the_first_that_nobody_holds(db: Database) -> None:
    def following(hours_from_now: float = 0) -> datetime | None:
        with db.reading() as connection:
            return next_due(connection, hour(hours_from_now))

    assert following() is None
    add(db, "later", due=hour(3))
    add(db, "a", due=hour(-1))
    assert following() == hour(-1)
    [mine] = claim(db)
    assert following() == hour(3)
    assert following(1) == hour(-1)
    finish(db, mine)
    assert following(1) == hour(3)


# ---------------------------------------------------------------- periodic locks


def add_lock(db: Database) -> None:
    db.transact(partial(add_periodic_lock, kind="audit"))


def take(db: Database, now: float, until: float) -> bool:
    return db.transact(partial(take_periodic_lock, kind="audit", now=hour(now), until=hour(until)))


def keep(db: Database, mine: float, until: float) -> bool:
    return db.transact(partial(keep_periodic_lock, kind="audit", mine=hour(mine), until=hour(until)))


def test_a_turn_is_taken_by_one_until_the_next_is_open(db: Database) -> None:
    add_lock(db)
    assert take(db, 0, until=10)
    assert not take(db, 9, until=19)
    assert take(db, 10, until=20)
    assert not keep(db, mine=10, until=21), "it is somebody else's by now"
    assert keep(db, mine=20, until=25)
    assert not take(db, 24, until=34)
    assert take(db, 25, until=35)


def test_the_row_is_made_once_and_is_no_work_for_workers(db: Database) -> None:
    for _ in range(2):
        add_lock(db)
    assert take(db, 0, until=10)
    with db.reading() as connection:
        assert connection.execute(select(tasks.c.claimed_by)).scalar_one() is None
        assert next_due(connection, hour(24)) is None
    assert claim(db, 24) == []


def test_of_many_that_ask_at_once_one_gets_it(db: Database) -> None:
    add_lock(db)
    assert sum(at_once(db.engine, 6, lambda own, number: take(own, 0, until=10 + number / 1000))) == 1
