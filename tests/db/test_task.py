"""Tasks: only the claimer of a task works on it, and no due task is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from leasehold.db.store import Database
from leasehold.db.tables import tasks
from leasehold.db.task import (
    LONGEST_ERROR,
    Claim,
    add_task,
    add_task_once,
    claim_tasks,
    finish_task,
    hurry_task,
    next_due,
    postpone_task,
    renew_claims,
    still_ours,
)
from tests.db.examples import NOW, another, hour, ident

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Engine, Row

LASTS = timedelta(minutes=30)


def add(db: Database, *subjects: str, due: datetime = NOW) -> None:
    for subject in subjects:
        db.transact(lambda connection, subject=subject: add_task(connection, "lease", subject, due))  # type: ignore[misc]  # mypy infers no lambda with a default.


def claim(db: Database, hours_from_now: float = 0, most: int = 10, claimer: str | None = None) -> Sequence[Claim]:
    name = claimer or ident()
    return db.transact(lambda connection: claim_tasks(connection, name, hour(hours_from_now), LASTS, most))


def finish(db: Database, mine: Claim, due: datetime | None = None, **more: Any) -> None:
    db.transact(lambda connection: finish_task(connection, mine, due, **more))


def row(db: Database, subject: str = "a") -> Row[Any]:
    with db.reading() as connection:
        return connection.execute(select(tasks).where(tasks.c.subject == subject)).one()


def ours(db: Database, mine: Claim) -> bool:
    return db.transact(lambda connection: still_ours(connection, mine))


# ---------------------------------------------------------------- claiming


def test_what_is_due_is_claimed_longest_due_first(db: Database) -> None:
    add(db, "b", due=hour(-1))
    add(db, "c", due=hour(-2))
    add(db, "a", due=hour(0))
    add(db, "later", due=hour(1))
    claims = claim(db)
    assert [(each.subject, each.due_at, each.attempts) for each in claims] == [
        ("c", hour(-2), 1),
        ("b", hour(-1), 1),
        ("a", hour(0), 1),
    ]


def add_of(db: Database, project: str | None, *subjects: str, due: datetime = NOW) -> None:
    for subject in subjects:
        db.transact(
            lambda connection, subject=subject: add_task(connection, "lease", subject, due, project)  # type: ignore[misc]  # as above
        )


def test_a_project_with_many_due_tasks_delays_nobody_elses(db: Database) -> None:
    add_of(db, "rush", *(f"r{number}" for number in range(9)), due=hour(-2))
    add_of(db, None, "h0", "h1", due=hour(-1.5))
    add_of(db, "quiet", "q0", "q1", due=hour(-1))
    add_of(db, "last", "l0", due=hour(0))
    assert [each.subject for each in claim(db, most=4)] == ["r0", "h0", "q0", "l0"]
    assert [each.subject for each in claim(db, most=4)] == ["r1", "h1", "q1", "r2"]
    assert [each.subject for each in claim(db, most=10)] == ["r3", "r4", "r5", "r6", "r7", "r8"]


def test_a_project_gets_its_own_tasks_in_the_order_in_which_they_are_due(db: Database) -> None:
    add_of(db, "rush", "late", due=hour(-1))
    add_of(db, "rush", "early", due=hour(-3))
    add_of(db, "rush", "between", due=hour(-2))
    assert [each.subject for each in claim(db, most=2)] == ["early", "between"]


def test_several_managers_share_out_the_work_of_several_projects(engine: Engine) -> None:
    db = Database(engine)
    for project in ("rush", "quiet", "last"):
        add_of(db, project, *(f"{project}{number}" for number in range(8)))
    with ThreadPoolExecutor(4) as threads:
        rounds = [threads.submit(claim, db, 0, 3) for _ in range(16)]
    claimed = [each.subject for one in rounds for each in one.result()]
    assert len(claimed) == len(set(claimed))
    claimed += [each.subject for each in claim(db, most=24)]
    assert sorted(claimed) == sorted(
        f"{project}{number}" for project in ("rush", "quiet", "last") for number in range(8)
    )


def test_no_more_is_claimed_than_asked_for(db: Database) -> None:
    add(db, *"abc")
    assert [each.subject for each in claim(db, most=2)] == ["a", "b"]
    assert [each.subject for each in claim(db, most=2)] == ["c"]
    assert claim(db) == []


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


def test_workers_never_claim_the_same_task(engine: Engine, db: Database) -> None:
    many = 200
    rows = [{"kind": "lease", "subject": str(number), "due_at": NOW, "attempts": 0} for number in range(many)]
    db.transact(lambda connection: connection.execute(insert(tasks), rows))

    def work(_number: int) -> list[int]:
        got: list[int] = []
        with another(engine) as own:
            while claims := claim(Database(own), most=3):
                got.extend(each.id for each in claims)
        return got

    with ThreadPoolExecutor(6) as threads:
        per_worker = list(threads.map(work, range(6)))
    claimed = [each for got in per_worker for each in got]
    assert len(set(claimed)) == len(claimed)
    # A worker that loses every race in a round finds nothing and stops; the next claim takes the remaining tasks.
    while claims := claim(db, most=many):
        claimed.extend(each.id for each in claims)
    assert len(set(claimed)) == len(claimed) == many


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
    assert db.transact(lambda connection: hurry_task(connection, "lease", "a", hour(1)))
    assert [each.subject for each in claim(db, 1)] == ["a"]


def test_a_failed_task_counts_its_attempts_until_it_succeeds(db: Database) -> None:
    add(db, "a")
    for attempt in range(1, 4):
        [mine] = claim(db, attempt)
        assert mine.attempts == attempt
        db.transact(lambda connection: postpone_task(connection, mine, NOW, "no route to host"))  # noqa: B023 - runs at once.
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


def test_a_subject_has_one_task_of_a_kind_and_its_name_is_exact(db: Database) -> None:
    add(db, "a", "A", "a ")
    db.transact(lambda connection: add_task(connection, "host", "a", NOW))
    with pytest.raises(IntegrityError):
        add(db, "a")


def test_hurrying_a_failing_task_makes_it_due_at_once(db: Database) -> None:
    add(db, "a")
    [mine] = claim(db)
    db.transact(lambda connection: postpone_task(connection, mine, hour(9), "x"))
    db.transact(lambda connection: hurry_task(connection, "lease", "a", NOW))
    [again] = claim(db)
    assert again.attempts == 1


def test_hurrying_leaves_the_claim_of_whoever_is_at_work(db: Database) -> None:
    add(db, "a")
    [mine] = claim(db)
    db.transact(lambda connection: hurry_task(connection, "lease", "a", hour(0.1)))
    assert ours(db, mine)
    assert claim(db, 0.1) == []


def test_hurrying_says_whether_there_is_such_a_task(db: Database) -> None:
    add(db, "a")
    for subject, there in (("a", True), ("a", True), ("b", False)):
        known = db.transact(lambda connection, subject=subject: hurry_task(connection, "lease", subject, NOW))  # type: ignore[misc]  # As above.
        assert known is there


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
