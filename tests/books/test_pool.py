"""Pools: the lock and the compare-and-swap that prove that nobody decided in between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, text

from leasehold.books.engine import writing
from leasehold.books.pool import bump_pools, create_pools, lock_pools
from leasehold.books.store import Books, GenerationRaceError
from leasehold.books.tables import leases, pools
from tests.books.examples import another, count, write
from tests.processes import wait_for

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


def generations(books: Books) -> dict[str, int]:
    with books.reading() as connection:
        return {row.name: row.generation for row in connection.execute(select(pools))}


def test_making_pools_again_leaves_their_generations(books: Books) -> None:
    books.transact(lambda connection: bump_pools(connection, {"hosts": 0}))
    books.transact(lambda connection: create_pools(connection, {"hosts", "floatingips"}))
    assert generations(books) == {"floatingips": 0, "hosts": 1}


def test_locking_tells_the_generations_of_the_pools_asked_for(books: Books) -> None:
    books.transact(lambda connection: bump_pools(connection, {"hosts": 0}))
    assert books.transact(lambda connection: lock_pools(connection, {"hosts", "floatingips"})) == {
        "floatingips": 0,
        "hosts": 1,
    }
    assert books.transact(lambda connection: lock_pools(connection, {"hosts"})) == {"hosts": 1}
    assert books.transact(lambda connection: lock_pools(connection, set())) == {}


def test_moving_on_from_a_generation_that_is_past_is_a_lost_race(books: Books, engine: Engine) -> None:
    books.transact(lambda connection: bump_pools(connection, {"hosts": 0}))

    def decide_too_late() -> None:
        with writing(engine) as connection:
            write(connection)
            bump_pools(connection, {"floatingips": 0, "hosts": 0})

    with pytest.raises(GenerationRaceError):
        decide_too_late()
    assert generations(books) == {"floatingips": 0, "hosts": 1}
    assert count(engine, leases) == 0


def test_of_several_who_saw_the_same_generation_one_moves_on(engine: Engine) -> None:
    """The compare-and-swap alone decides: on Galera the lock does not reach the other nodes."""
    together = Barrier(6)

    def decide(_number: int) -> bool:
        with another(engine) as own:
            together.wait()
            try:
                with writing(own) as connection:
                    bump_pools(connection, {"hosts": 0})
            except GenerationRaceError:
                return False
            return True

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(decide, range(6))) == 1


def test_every_decision_of_many_moves_the_generation_by_one(engine: Engine, books: Books) -> None:
    def decide(connection: Connection) -> None:
        bump_pools(connection, lock_pools(connection, {"hosts", "floatingips"}))

    def decide_tens(_number: int) -> None:
        with another(engine) as own:
            for _ in range(10):
                Books(own).transact(decide)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(decide_tens, range(4)))
    assert generations(books) == {"floatingips": 40, "hosts": 40}


QUEUED = {
    # What InnoDB tells of its transactions stands still while it is asked often; a lock that is free takes no time.
    "mysql": "SELECT COUNT(*) FROM information_schema.processlist"
    " WHERE db = DATABASE() AND info LIKE '%FOR UPDATE' AND time_ms > 200",
    "postgresql": "SELECT COUNT(*) FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND datname = current_database()",
}
IMPATIENTLY = {"mysql": "SET innodb_lock_wait_timeout = 2", "postgresql": "SET lock_timeout = '2s'"}


def test_who_waits_for_hosts_keeps_nobody_from_addresses(server: Books) -> None:
    """Most requests want hosts; one that wants both queues for them with empty hands."""
    kind = server.engine.dialect.name

    def queued() -> bool:
        with server.engine.connect() as connection:
            return bool(connection.execute(text(QUEUED[kind])).scalar_one())

    with ThreadPoolExecutor(1) as thread, another(server.engine) as own:
        with writing(server.engine) as connection:
            lock_pools(connection, {"hosts"})
            both = thread.submit(server.transact, lambda waiting: lock_pools(waiting, {"hosts", "floatingips"}))
            wait_for(queued)
            with writing(own) as impatient:
                impatient.execute(text(IMPATIENTLY[kind]))
                assert lock_pools(impatient, {"floatingips"}) == {"floatingips": 0}
        assert both.result() == {"floatingips": 0, "hosts": 0}
