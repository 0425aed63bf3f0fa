"""Pools: the lock and the compare-and-swap that detect a decision of another process in between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, text

from leasehold.db.engine import writing
from leasehold.db.pool import (
    KEPT,
    NONCE_LENGTH,
    LockedPools,
    PoolState,
    bump_pools,
    create_pools,
    ensure_pools,
    lock_order,
    lock_pools,
    move_pools,
    read_pools,
)
from leasehold.db.store import Database, GenerationRaceError
from leasehold.db.tables import leases, pools
from tests.databases import another
from tests.db.examples import at_once, count, write
from tests.processes import wait_for

if TYPE_CHECKING:
    from sqlalchemy import Connection


def generations(db: Database) -> dict[str, int]:
    with db.reading() as connection:
        return {row.name: row.generation for row in connection.execute(select(pools))}


def decide(connection: Connection, *names: str) -> None:
    bump_pools(connection, lock_pools(connection, names))


def decide_in_hosts(connection: Connection) -> None:
    decide(connection, "hosts")


def state(db: Database, name: str = "hosts") -> PoolState:
    with db.reading() as connection:
        return read_pools(connection)[name]


def put(db: Database, **values: object) -> PoolState:
    """Change the rows of all pools as another version or a restore does; return the state of `hosts`."""
    with writing(db.engine) as connection:
        connection.execute(pools.update().values(**values))
    return state(db)


def locked(db: Database, *names: str) -> LockedPools:
    return db.transact(lambda connection: lock_pools(connection, names))


def test_making_pools_again_leaves_their_generations(db: Database) -> None:
    db.transact(decide_in_hosts)
    db.transact(lambda connection: create_pools(connection, {"hosts", "floatingips"}))
    assert generations(db) == {"floatingips": 0, "hosts": 1}


def test_services_that_start_at_the_same_time_make_each_pool_once(db: Database) -> None:
    db.transact(decide_in_hosts)
    at_once(db.engine, 4, lambda own, number: ensure_pools(own, {"hosts", "badges", f"own-{number}"}))
    own = {f"own-{number}": 0 for number in range(4)}
    assert generations(db) == {"floatingips": 0, "hosts": 1, "badges": 0, **own}
    ensure_pools(db, {"hosts", "badges"})
    assert generations(db)["hosts"] == 1


def test_locking_tells_the_generations_of_the_pools_asked_for(db: Database) -> None:
    db.transact(decide_in_hosts)
    assert locked(db, "hosts", "floatingips") == {"floatingips": 0, "hosts": 1}
    assert locked(db, "hosts") == {"hosts": 1}
    assert locked(db) == {}


def test_moving_on_from_a_generation_that_is_past_is_a_lost_race(db: Database) -> None:
    seen = locked(db, "floatingips", "hosts")
    db.transact(decide_in_hosts)

    def decide_too_late() -> None:
        with writing(db.engine) as connection:
            write(connection)
            bump_pools(connection, seen)

    with pytest.raises(GenerationRaceError):
        decide_too_late()
    assert generations(db) == {"floatingips": 0, "hosts": 1}
    assert count(db.engine, leases) == 0


def test_the_same_generation_of_another_history_is_a_lost_race(db: Database) -> None:
    """A restored database reaches the same numbers again."""
    db.transact(decide_in_hosts)
    seen = locked(db, "hosts")
    put(db, generation=0, nonces="0:first-nonce")
    db.transact(decide_in_hosts)
    assert state(db).generation == seen["hosts"]
    with pytest.raises(GenerationRaceError), writing(db.engine) as connection:
        bump_pools(connection, seen)


def test_a_pool_follows_from_each_of_its_last_states_and_from_no_other(db: Database) -> None:
    states = [state(db)]
    for _ in range(KEPT + 2):
        db.transact(decide_in_hosts)
        states.append(state(db))
    now = states[-1]
    assert [now.follows(each) for each in states] == [False] * 3 + [True] * KEPT
    assert not any(each.follows(now) for each in states[:-1])


@pytest.mark.parametrize("lost", [1, 3])
@pytest.mark.parametrize("again", [0, 1, 3, 4])
def test_a_pool_does_not_follow_from_what_a_restore_lost(db: Database, lost: int, again: int) -> None:
    backup = state(db)
    for _ in range(lost):
        db.transact(decide_in_hosts)
    seen = state(db)
    put(db, generation=backup.generation, nonces=backup.nonces)
    for _ in range(again):
        db.transact(decide_in_hosts)
    assert not state(db).follows(seen)
    assert state(db).follows(backup)


def test_decisions_of_a_version_without_nonces_are_followed_as_far_as_numbers_tell(db: Database) -> None:
    """Such a version may run beside this one during an upgrade."""
    begin = state(db)
    old = [put(db, generation=pools.c.generation + 1) for _ in range(2)]
    assert old[1].follows(old[0])
    assert old[0].follows(begin)
    assert not old[0].follows(old[1])
    db.transact(decide_in_hosts)
    assert all(state(db).follows(each) for each in (begin, *old))
    put(db, generation=old[0].generation, nonces=old[0].nonces)
    db.transact(decide_in_hosts)
    assert state(db).follows(old[0])
    assert not state(db).follows(old[1])


def test_a_pool_without_any_nonce_follows_from_nothing_until_somebody_decides(db: Database) -> None:
    bare = put(db, generation=7, nonces="")
    assert not bare.follows(bare)
    db.transact(decide_in_hosts)
    assert state(db).generation == 8
    assert state(db).follows(state(db))


def test_pools_are_locked_hosts_first_and_floating_ips_last() -> None:
    assert lock_order({"floatingips", "volumes", "hosts", "accelerators"}) == [
        "hosts",
        "accelerators",
        "volumes",
        "floatingips",
    ]


def test_of_several_who_saw_the_same_generation_one_moves_on(db: Database) -> None:
    """Only the compare-and-swap decides: on Galera the lock does not reach the other nodes."""
    seen = locked(db, "hosts")

    def decide(own: Database, _number: int) -> bool:
        try:
            with writing(own.engine) as connection:
                bump_pools(connection, seen)
        except GenerationRaceError:
            return False
        return True

    assert sum(at_once(db.engine, 6, decide)) == 1


def test_every_decision_of_many_moves_the_generation_by_one(db: Database) -> None:
    def decide_tens(own: Database, _number: int) -> None:
        for _ in range(10):
            own.transact(lambda connection: decide(connection, "floatingips", "hosts"))

    at_once(db.engine, 4, decide_tens)
    assert generations(db) == {"floatingips": 40, "hosts": 40}


QUEUED = {
    # InnoDB's transaction tables are not refreshed while they are polled often; an uncontended lock takes no time.
    "mysql": "SELECT COUNT(*) FROM information_schema.processlist"
    " WHERE db = DATABASE() AND info LIKE '%FOR UPDATE' AND time_ms > 200",
    "postgresql": "SELECT COUNT(*) FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND datname = current_database()",
}
IMPATIENTLY = {"mysql": "SET innodb_lock_wait_timeout = 2", "postgresql": "SET lock_timeout = '2s'"}


def test_who_waits_for_hosts_keeps_nobody_from_addresses(server: Database) -> None:
    """Most requests want hosts; a request that wants both pools waits for the hosts without any lock."""
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


# ---------------------------------------------------------------- lock and move in one


def moved(db: Database, *names: str) -> LockedPools:
    return db.transact(lambda connection: move_pools(connection, names))


@pytest.mark.parametrize("generation", [0, 8, 9, 10, 99_999])
def test_moving_writes_what_a_lock_and_a_bump_write(db: Database, generation: int) -> None:
    before = put(db, generation=generation, nonces=f"{generation}:" + "n" * NONCE_LENGTH + "m" * NONCE_LENGTH)
    found = moved(db, "floatingips", "hosts")
    assert found == {"hosts": generation, "floatingips": generation}
    after = state(db)
    assert (found.states["hosts"], found.moved["hosts"]) == (before, after)
    assert after.generation == generation + 1
    assert after.nonces.partition(":")[0] == str(generation + 1)
    assert after.nonces.partition(":")[2][NONCE_LENGTH:] == before.nonces.partition(":")[2]
    assert after.follows(before)
    assert not after.is_same(before)


def test_moving_keeps_as_many_nonces_as_a_bump(db: Database) -> None:
    states = [state(db)]
    for _ in range(KEPT + 2):
        moved(db, "hosts")
        states.append(state(db))
    now = states[-1]
    assert [now.follows(each) for each in states] == [False] * 3 + [True] * KEPT
    db.transact(decide_in_hosts)
    assert len(state(db).nonces) == len(now.nonces)
    assert state(db).follows(now)


def test_pools_that_were_moved_are_not_moved_again(db: Database) -> None:
    db.transact(lambda connection: bump_pools(connection, move_pools(connection, {"hosts"})))
    assert generations(db) == {"floatingips": 0, "hosts": 1}


@pytest.mark.parametrize("nonces", ["", "3:" + "n" * NONCE_LENGTH, "5:" + "n" * NONCE_LENGTH])
def test_a_row_without_the_nonce_of_its_generation_is_locked_and_moved_by_the_bump(db: Database, nonces: str) -> None:
    before = put(db, generation=4, nonces=nonces)
    found = moved(db, "hosts")
    assert (found, found.moved, found.states["hosts"], state(db)) == ({"hosts": 4}, {}, before, before)
    db.transact(lambda connection: bump_pools(connection, move_pools(connection, {"hosts"})))
    assert state(db).generation == 5
    assert moved(db, "hosts").moved.keys() == {"hosts"}


def test_a_move_that_is_rolled_back_leaves_the_row(db: Database) -> None:
    before = state(db)

    def refused(connection: Connection) -> None:
        move_pools(connection, {"hosts"})
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        db.transact(refused)
    assert state(db) == before


def test_of_several_that_move_a_pool_each_gets_a_generation_of_its_own(db: Database) -> None:
    found = at_once(db.engine, 6, lambda own, _number: own.transact(lambda c: move_pools(c, {"hosts"}))["hosts"])
    assert sorted(found) == list(range(6))
    assert generations(db)["hosts"] == 6


def test_states_are_the_same_only_with_the_same_nonce() -> None:
    one, other = "n" * NONCE_LENGTH, "m" * NONCE_LENGTH
    assert PoolState(3, f"3:{one}{other}").is_same(PoolState(3, f"3:{one}", waiting=True))
    assert not PoolState(3, f"3:{one}").is_same(PoolState(3, f"3:{other}"))
    assert not PoolState(3, f"3:{one}").is_same(PoolState(4, f"4:{one}"))
    assert not PoolState(3, "").is_same(PoolState(3, ""))
