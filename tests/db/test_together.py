"""Writes that are sent at once: what is there afterwards is the same as of writes that are sent one by one."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from leasehold.db.idempotency import keep_key
from leasehold.db.leases.lease import find_lease, insert_lease, save_lease
from leasehold.db.leases.listed import each_lease
from leasehold.db.outbox import put_event
from leasehold.db.store import Database
from leasehold.db.tables import events, leases, outbox, reservations, tasks
from leasehold.db.task import LEASE, add_task, claim_tasks, finish_task
from leasehold.db.together import MOST, ROWS, together
from tests.databases import another
from tests.db.examples import NOW, count, hour, hours, ident, lease, reservation, statements, write
from tests.locks import watch_locks

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from leasehold.db.together import Writer
    from leasehold.model.lease import Lease

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20) | st.sampled_from(
    ["100 %", "%s %(w0_name)s %%", "'; END", '"; -- \\', "BEGIN NOT ATOMIC", "\U0001f680\n\t"]
)


def sized(parts: int) -> Lease:
    """Return a lease with this many reservations and no events."""
    owner = lease(parts=0, events=())
    return replace(owner, reservations=tuple(reservation(owner.id) for _ in range(parts)))


def create(writes: Writer, made: Lease, key: str) -> None:
    """Write all that a create writes but its allocations."""
    insert_lease(writes, made)
    add_task(writes, LEASE, made.id, NOW, made.project_id)
    put_event(writes, "lease.create", made, NOW, {"more": made.name})
    keep_key(writes, made.project_id, key, "digest", made.id, NOW)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=TEXTS, value=TEXTS, parts=st.integers(0, 3), number=st.none() | st.integers(0, 9))
def test_what_is_written_at_once_is_read_back_whole(
    db: Database, name: str, value: str, parts: int, number: int | None
) -> None:
    made = lease(parts=0, name=name, status_reason=value or None)
    request = {"min": 1, name: [value, number]}
    parts_of = tuple(
        reservation(made.id, request=request, missing_resources=bool(number), cloud={value: name}) for _ in range(parts)
    )
    made = replace(made, reservations=parts_of)

    def work(connection: Connection) -> None:
        with together(connection) as writes:
            create(writes, made, ident())
        assert writes.is_complete

    db.transact(work)
    with db.reading() as connection:
        assert find_lease(connection, made.id) == made
        told = connection.execute(select(outbox).where(outbox.c.lease_id == made.id)).one()
        due = connection.execute(select(tasks).where(tasks.c.subject == made.id)).one()
    assert (told.payload["more"], told.payload["name"], told.created_at) == (name, name, NOW)
    assert (due.due_at, due.project_id, due.claimed_by) == (NOW, made.project_id, None)


def test_a_server_gets_one_statement_and_sqlite_gets_each(db: Database, engine: Engine) -> None:
    made = lease(parts=2)
    with statements(engine) as sent:
        db.transact(lambda connection: created(connection, made))
    assert len(sent) == (6 if engine.dialect.name == "sqlite" else 1)


def test_postgresql_gets_what_is_inserted_at_once_and_each_update_by_itself(db: Database, engine: Engine) -> None:
    made, other = db.transact(write), lease()
    renamed = replace(made, name="new")

    def work(connection: Connection) -> None:
        with together(connection) as writes:
            create(writes, other, ident())
            put_event(writes, "lease.create", other, NOW)
            saved = save_lease(writes, made, renamed, NOW)
            put_event(writes, "lease.update", saved, NOW)
            put_event(writes, "lease.update", saved, NOW)
        assert writes.is_complete

    with statements(engine) as sent:
        db.transact(work)
    words = {
        "sqlite": [*["INSERT"] * 6, "UPDATE"],
        "mysql": ["BEGIN"],
        "postgresql": ["WITH", "UPDATE"],
    }
    assert [each.split()[0] for each in sent] == words[engine.dialect.name]
    with db.reading() as connection:
        found = [find_lease(connection, each.id) for each in (made, other)]
    assert [each and each.name for each in found] == ["new", other.name]


def created(connection: Connection, made: Lease) -> bool:
    with together(connection) as writes:
        create(writes, made, made.id)
    return writes.is_complete


@pytest.mark.parametrize(
    ("parts", "messages"), [(2, 1), (MOST + 1, 1), (60 * ROWS, 1), (MOST * ROWS, 3), (MOST * ROWS + 1, 3)]
)
def test_one_statement_takes_many_new_rows(db: Database, engine: Engine, parts: int, messages: int) -> None:
    made = sized(parts)
    with statements(engine) as sent:
        assert db.transact(lambda connection: created(connection, made))
    assert len(sent) == (5 if engine.dialect.name == "sqlite" else messages)
    with db.reading() as connection:
        assert find_lease(connection, made.id) == made


@pytest.mark.parametrize(("count", "compounds"), [(2, 1), (MOST, 1), (MOST + 1, 1), (2 * MOST, 2)])
def test_updates_are_sent_in_parts(db: Database, engine: Engine, count: int, compounds: int) -> None:
    made = [sized(0) for _ in range(count)]

    def write_all(connection: Connection) -> None:
        for each in made:
            insert_lease(connection, each)

    def rename(connection: Connection) -> bool:
        with together(connection) as writes:
            for each in made:
                save_lease(writes, each, replace(each, name=f"new {each.id}"), NOW)
        return writes.is_complete

    db.transact(write_all)
    with statements(engine) as sent:
        assert db.transact(rename)
    if engine.dialect.name == "mysql":
        assert sum(each.startswith("BEGIN NOT ATOMIC UPDATE") for each in sent) == compounds
    with db.reading() as connection:
        assert {each.id: each.name for each in each_lease(connection, None)} == {
            each.id: f"new {each.id}" for each in made
        }


@pytest.mark.parametrize("changed", [True, False])
def test_one_row_is_one_plain_statement(db: Database, engine: Engine, *, changed: bool) -> None:
    made = db.transact(write)

    def work(connection: Connection) -> None:
        with together(connection) as writes:
            save_lease(writes, made, replace(made, name="new") if changed else made, NOW)
        assert writes.is_complete

    with statements(engine) as sent:
        db.transact(work)
    # The second is the state of the lease, of which no event tells here.
    assert [each[:6] for each in sent] == ["UPDATE", "INSERT"] * changed


def test_the_first_error_is_the_answer_and_nothing_of_the_transaction_stays(db: Database, engine: Engine) -> None:
    first, second = lease(), lease()
    db.transact(lambda connection: keep_key(connection, "demo", "taken", "digest", first.id, NOW))

    def work(connection: Connection) -> None:
        insert_lease(connection, first)
        with together(connection) as writes:
            create(writes, second, "taken")
            put_event(writes, "lease.create", second, NOW)

    with pytest.raises(IntegrityError):
        db.transact(work)
    assert [count(engine, table) for table in (leases, reservations, events, tasks, outbox)] == [0] * 5


def test_a_block_that_fails_sends_nothing(db: Database, engine: Engine) -> None:
    class StopError(Exception):
        pass

    def work(connection: Connection) -> None:
        with together(connection) as writes:
            create(writes, lease(), "key")
            raise StopError

    with statements(engine) as sent, pytest.raises(StopError):
        db.transact(work)
    assert not sent


@pytest.mark.parametrize("lost", ["lease", "claim", "event", None])
def test_a_row_that_is_not_there_any_more_is_noticed(db: Database, lost: str | None) -> None:
    made = db.transact(write)
    db.transact(lambda connection: add_task(connection, LEASE, made.id, NOW))
    (claim,) = db.transact(lambda connection: claim_tasks(connection, ident(), NOW, hours(0, 1).duration, 1))
    gone = {"lease": delete(leases), "claim": delete(tasks), "event": delete(events)}
    if lost == "lease":
        db.transact(lambda connection: save_lease(connection, made, replace(made, name="other"), NOW))
    elif lost is not None:
        db.transact(lambda connection: connection.execute(gone[lost]))
    moved = replace(made, events=tuple(replace(each, time=hour(5)) for each in made.events))

    class LostError(Exception):
        pass

    def work(connection: Connection) -> None:
        with together(connection) as writes:
            save_lease(writes, made, moved, NOW, locked=False)
            finish_task(writes, claim, hour(3))
        if not writes.is_complete:
            raise LostError

    with nullcontext() if lost is None else pytest.raises(LostError):
        db.transact(work)


def test_the_order_of_locks_is_watched_in_a_compound_as_well(engine: Engine, db: Database) -> None:
    made = db.transact(write)

    def work(connection: Connection) -> None:
        with together(connection) as writes:
            add_task(writes, LEASE, made.id, NOW)
            save_lease(writes, made, replace(made, name="new"), NOW)

    with another(engine) as watched:
        watch_locks(watched)
        with pytest.raises(AssertionError, match="is locked after"):
            Database(watched).transact(work)


@pytest.mark.parametrize("number", [2, MOST + 1, 2 * MOST + 1])
def test_many_leases_are_saved_at_once_each_if_it_is_as_it_was_read(db: Database, number: int) -> None:
    seen = [db.transact(write) for _ in range(number)]

    def save(connection: Connection) -> bool:
        with together(connection) as writes:
            for each in seen:
                after = replace(each, name=f"new {each.id}", status_reason="100 %")
                put_event(writes, "lease.update", save_lease(writes, each, after, NOW, locked=False), NOW)
        return writes.is_complete

    assert db.transact(save)
    with db.reading() as connection:
        assert {each.name for each in each_lease(connection, None)} == {f"new {each.id}" for each in seen}
    assert count(db.engine, outbox) == number
    seen[1:] = [replace(each, generation=each.generation + 1) for each in seen[1:]]
    assert not db.transact(save)
