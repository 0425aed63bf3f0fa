"""Tasks: nobody works on what somebody else has claimed, and nothing that is due is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from leasehold.books.store import Books
from leasehold.books.tables import tasks
from leasehold.books.task import (
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
from tests.books.examples import NOW, another, hour, ident

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Engine, Row

LASTS = timedelta(minutes=30)


def add(books: Books, *subjects: str, due: datetime = NOW) -> None:
    for subject in subjects:
        books.transact(lambda connection, subject=subject: add_task(connection, "lease", subject, due))  # type: ignore[misc]  # mypy infers no lambda with a default.


def claim(books: Books, hours_from_now: float = 0, most: int = 10, claimer: str | None = None) -> Sequence[Claim]:
    name = claimer or ident()
    return books.transact(lambda connection: claim_tasks(connection, name, hour(hours_from_now), LASTS, most))


def finish(books: Books, mine: Claim, due: datetime | None = None, **more: Any) -> None:
    books.transact(lambda connection: finish_task(connection, mine, due, **more))


def row(books: Books, subject: str = "a") -> Row[Any]:
    with books.reading() as connection:
        return connection.execute(select(tasks).where(tasks.c.subject == subject)).one()


def ours(books: Books, mine: Claim) -> bool:
    return books.transact(lambda connection: still_ours(connection, mine))


# ---------------------------------------------------------------- claiming


def test_what_is_due_is_claimed_longest_due_first(books: Books) -> None:
    add(books, "b", due=hour(-1))
    add(books, "c", due=hour(-2))
    add(books, "a", due=hour(0))
    add(books, "later", due=hour(1))
    claims = claim(books)
    assert [(each.subject, each.due_at, each.attempts) for each in claims] == [
        ("c", hour(-2), 1),
        ("b", hour(-1), 1),
        ("a", hour(0), 1),
    ]


def add_of(books: Books, project: str | None, *subjects: str, due: datetime = NOW) -> None:
    for subject in subjects:
        books.transact(
            lambda connection, subject=subject: add_task(connection, "lease", subject, due, project)  # type: ignore[misc]  # as above
        )


def test_a_project_with_many_due_tasks_delays_nobody_elses(books: Books) -> None:
    add_of(books, "rush", *(f"r{number}" for number in range(9)), due=hour(-2))
    add_of(books, None, "h0", "h1", due=hour(-1.5))
    add_of(books, "quiet", "q0", "q1", due=hour(-1))
    add_of(books, "last", "l0", due=hour(0))
    assert [each.subject for each in claim(books, most=4)] == ["r0", "h0", "q0", "l0"]
    assert [each.subject for each in claim(books, most=4)] == ["r1", "h1", "q1", "r2"]
    assert [each.subject for each in claim(books, most=10)] == ["r3", "r4", "r5", "r6", "r7", "r8"]


def test_a_project_gets_its_own_tasks_in_the_order_in_which_they_are_due(books: Books) -> None:
    add_of(books, "rush", "late", due=hour(-1))
    add_of(books, "rush", "early", due=hour(-3))
    add_of(books, "rush", "between", due=hour(-2))
    assert [each.subject for each in claim(books, most=2)] == ["early", "between"]


def test_several_managers_share_out_the_work_of_several_projects(engine: Engine) -> None:
    books = Books(engine)
    for project in ("rush", "quiet", "last"):
        add_of(books, project, *(f"{project}{number}" for number in range(8)))
    with ThreadPoolExecutor(4) as threads:
        rounds = [threads.submit(claim, books, 0, 3) for _ in range(16)]
    claimed = [each.subject for one in rounds for each in one.result()]
    assert len(claimed) == len(set(claimed))
    claimed += [each.subject for each in claim(books, most=24)]
    assert sorted(claimed) == sorted(
        f"{project}{number}" for project in ("rush", "quiet", "last") for number in range(8)
    )


def test_no_more_is_claimed_than_asked_for(books: Books) -> None:
    add(books, *"abc")
    assert [each.subject for each in claim(books, most=2)] == ["a", "b"]
    assert [each.subject for each in claim(books, most=2)] == ["c"]
    assert claim(books) == []


def test_a_claim_that_ran_out_is_free_for_anybody(books: Books) -> None:
    add(books, "a")
    [first] = claim(books)
    assert claim(books, 0.5) == []
    [second] = claim(books, 0.6)
    assert second.attempts == 2
    assert not ours(books, first)
    assert ours(books, second)


def test_a_renewed_claim_lasts_longer_and_a_lost_one_is_not_won_back(books: Books) -> None:
    add(books, "a", "b")
    mine = claim(books, claimer="me")
    lost = mine[0]
    for _ in range(2):
        books.transact(lambda connection: renew_claims(connection, [mine[1].id], {"me"}, hour(2)))
    [theirs] = claim(books, 1)
    assert theirs.subject == lost.subject
    books.transact(lambda connection: renew_claims(connection, [each.id for each in mine], {"me"}, hour(9)))
    assert row(books, "a").claim_until == hour(1) + LASTS
    assert row(books, "b").claim_until == hour(9)
    assert [ours(books, each) for each in (*mine, theirs)] == [False, True, True]


def test_workers_never_claim_the_same_task(engine: Engine, books: Books) -> None:
    many = 200
    rows = [{"kind": "lease", "subject": str(number), "due_at": NOW, "attempts": 0} for number in range(many)]
    books.transact(lambda connection: connection.execute(insert(tasks), rows))

    def work(_number: int) -> list[int]:
        got: list[int] = []
        with another(engine) as own:
            while claims := claim(Books(own), most=3):
                got.extend(each.id for each in claims)
        return got

    with ThreadPoolExecutor(6) as threads:
        per_worker = list(threads.map(work, range(6)))
    claimed = [each for got in per_worker for each in got]
    assert len(set(claimed)) == len(claimed)
    # Whoever loses every race in a round finds nothing and leaves; what is left then is for the next who asks.
    while claims := claim(books, most=many):
        claimed.extend(each.id for each in claims)
    assert len(set(claimed)) == len(claimed) == many


# ---------------------------------------------------------------- giving back


def test_a_finished_task_is_due_again_when_it_says_and_has_not_failed(books: Books) -> None:
    add(books, "a")
    finish(books, claim(books)[0], hour(1))
    assert claim(books, 0.9) == []
    [again] = claim(books, 1)
    assert again.attempts == 1


def test_a_finished_task_with_nothing_due_waits_until_somebody_makes_it_due(books: Books) -> None:
    add(books, "a")
    finish(books, claim(books)[0])
    assert claim(books, 1000) == []
    assert books.transact(lambda connection: hurry_task(connection, "lease", "a", hour(1)))
    assert [each.subject for each in claim(books, 1)] == ["a"]


def test_a_failed_task_counts_its_attempts_until_it_succeeds(books: Books) -> None:
    add(books, "a")
    for attempt in range(1, 4):
        [mine] = claim(books, attempt)
        assert mine.attempts == attempt
        books.transact(lambda connection: postpone_task(connection, mine, NOW, "no route to host"))  # noqa: B023 - runs at once.
        assert row(books).last_error == "no route to host"
    finish(books, claim(books)[0])
    assert (row(books).attempts, row(books).last_error, row(books).claimed_by) == (0, None, None)


def test_an_error_longer_than_anybody_reads_is_cut(books: Books) -> None:
    add(books, "a")
    finish(books, claim(books)[0], error="\U0001f525" * 70_000, attempts=1)
    assert row(books).last_error == "\U0001f525" * LONGEST_ERROR


def test_who_lost_the_claim_finishes_nothing(books: Books) -> None:
    add(books, "a")
    [lost] = claim(books)
    [taken] = claim(books, 1)
    before = row(books)
    finish(books, lost, hour(5), error="late")
    assert row(books) == before
    finish(books, taken)
    finish(books, lost, hour(5), error="late")
    assert (row(books).due_at, row(books).last_error) == (None, None)


def test_a_claim_on_a_task_that_is_gone_is_not_ours(books: Books) -> None:
    gone = Claim(4711, "lease", "a", "me", 1, NOW)
    assert not ours(books, gone)
    finish(books, gone, NOW)


# ---------------------------------------------------------------- making due


def test_a_subject_has_one_task_of_a_kind_and_its_name_is_exact(books: Books) -> None:
    add(books, "a", "A", "a ")
    books.transact(lambda connection: add_task(connection, "host", "a", NOW))
    with pytest.raises(IntegrityError):
        add(books, "a")


def test_hurrying_a_failing_task_makes_it_due_at_once(books: Books) -> None:
    add(books, "a")
    [mine] = claim(books)
    books.transact(lambda connection: postpone_task(connection, mine, hour(9), "x"))
    books.transact(lambda connection: hurry_task(connection, "lease", "a", NOW))
    [again] = claim(books)
    assert again.attempts == 1


def test_hurrying_leaves_the_claim_of_whoever_is_at_work(books: Books) -> None:
    add(books, "a")
    [mine] = claim(books)
    books.transact(lambda connection: hurry_task(connection, "lease", "a", hour(0.1)))
    assert ours(books, mine)
    assert claim(books, 0.1) == []


def test_hurrying_says_whether_there_is_such_a_task(books: Books) -> None:
    add(books, "a")
    for subject, there in (("a", True), ("a", True), ("b", False)):
        known = books.transact(lambda connection, subject=subject: hurry_task(connection, "lease", subject, NOW))  # type: ignore[misc]  # As above.
        assert known is there


def test_adding_once_writes_a_task_or_makes_it_due(books: Books) -> None:
    for due in (NOW, NOW, hour(1)):
        books.transact(lambda connection: add_task_once(connection, "host", "7", due))  # noqa: B023 - runs at once.
        assert row(books, "7").due_at == due


def test_the_next_task_due_is_the_first_that_nobody_holds(books: Books) -> None:
    def following(hours_from_now: float = 0) -> datetime | None:
        with books.reading() as connection:
            return next_due(connection, hour(hours_from_now))

    assert following() is None
    add(books, "later", due=hour(3))
    add(books, "a", due=hour(-1))
    assert following() == hour(-1)
    [mine] = claim(books)
    assert following() == hour(3)
    assert following(1) == hour(-1)
    finish(books, mine)
    assert following(1) == hour(3)
