"""The guarantees of our transactions on a Galera cluster, where a lock on one node has no effect on the others."""

from __future__ import annotations

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert, make_url, select, text
from sqlalchemy.exc import OperationalError

from leasehold.conf.database import DatabaseSettings
from leasehold.conf.settings import Settings
from leasehold.db import schema
from leasehold.db.engine import open_engine
from leasehold.db.leases.lease import insert_lease
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.store import Database, UnknownOutcomeError
from leasehold.db.tables import leases, pools, tasks
from leasehold.db.task import claim_tasks
from leasehold.db.together import together
from leasehold.features.subscription import use as subscription
from leasehold.features.subscription.model import ChannelName, TooManySubscriptionsError
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.model.caller import Caller
from tests.db.examples import lease, statements, write
from tests.factory import Clock, open_service
from tests.processes import BIN, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from tests.factory import World
    from tests.servers.galera import GaleraCluster, GaleraNode

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]

ROUNDS = 40
HOSTS = "hosts"


@pytest.fixture
def nodes(node_urls: list[str]) -> Iterator[list[Database]]:
    """Yield the same empty database through each of the nodes, all of which have applied its migrations."""
    engines = [open_engine(url) for url in node_urls]
    schema.upgrade(engines[0])
    for engine in engines:
        schema.check(engine)
    # On a machine that is busy with other tests, one that loses every conflict has to try for longer than an API does.
    yield [Database(engine, retry_seconds=120) for engine in engines]
    for engine in engines:
        engine.dispose()


def names(db: Database) -> set[str]:
    with db.reading() as connection:
        return set(connection.scalars(select(leases.c.id)))


def generation(db: Database) -> int:
    with db.reading() as connection:
        found: int = connection.execute(select(pools.c.generation).where(pools.c.name == HOSTS)).scalar_one()
        return found


@contextmanager
def held_back(node: GaleraNode, table: str, url: str) -> Iterator[None]:
    """Block a node from applying further write sets once another node has written to a table, until the block ends.

    This simulates a node that lags behind the others.
    """
    with node._connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"FLUSH TABLES {make_url(url).database}.{table} WITH READ LOCK")
        yield
        cursor.execute("UNLOCK TABLES")


def test_a_node_gets_each_write_by_itself(nodes: list[Database]) -> None:
    def work(connection: Connection) -> None:
        with together(connection) as writes:
            insert_lease(writes, lease(parts=2))

    for node in nodes:
        with statements(node.engine) as sent:
            node.transact(work)
        assert [each.split()[2] for each in sent] == ["leases", "reservations", "events"]


def test_a_limit_that_is_counted_holds_on_all_nodes_together(node_urls: list[str], nodes: list[Database]) -> None:
    """A count is no write, so two nodes would both add the last one: each writes the row of the project as well."""
    delivery = DeliverySettings(subscriptions=1, http=True, allowed_networks=(ip_network("127.0.0.0/8"),))
    worlds = [open_service(url, clock=Clock(), settings=Settings().having(delivery)) for url in node_urls]
    member, together_now = Caller("alice", "demo"), threading.Barrier(len(worlds))

    def one_more(world: World) -> str | None:
        together_now.wait()
        try:
            return subscription.subscribe(world.service, member, ChannelName.WEBHOOK, "http://127.0.0.1:1/").id
        except TooManySubscriptionsError:
            return None

    with ThreadPoolExecutor(len(worlds)) as threads:
        for _ in range(ROUNDS):
            made = [each for each in threads.map(one_more, worlds) if each is not None]
            assert len(made) == 1
            subscription.unsubscribe(worlds[0].service, made[0])
    for world in worlds:
        world.engine.dispose()


def test_what_is_committed_on_one_node_is_found_on_every_other_right_away(nodes: list[Database]) -> None:
    for number in range(ROUNDS):
        made = nodes[number % 3].transact(write).id
        assert made in names(nodes[(number + 1) % 3])
        assert made in names(nodes[(number + 2) % 3])


def test_a_node_that_is_behind_lets_readers_wait(
    galera: GaleraCluster, node_urls: list[str], nodes: list[Database]
) -> None:
    with ThreadPoolExecutor(1) as threads:
        with held_back(galera.nodes[1], "leases", node_urls[1]):
            made = nodes[0].transact(write).id
            found = threads.submit(names, nodes[1])
            with pytest.raises(TimeoutError):
                found.result(1)
        assert made in found.result(60)


def test_without_the_wait_a_node_that_is_behind_tells_what_was(
    galera: GaleraCluster, node_urls: list[str], nodes: list[Database]
) -> None:
    """The counterpart of the test before: without the option, reads are stale."""
    careless = open_engine(node_urls[1], settings=DatabaseSettings(wsrep_sync_wait=0))
    assert names(Database(careless)) == set()
    with held_back(galera.nodes[1], "leases", node_urls[1]):
        nodes[0].transact(write)
        assert names(Database(careless)) == set()
    careless.dispose()


def test_a_decision_on_a_node_that_is_behind_is_made_again(
    galera: GaleraCluster, node_urls: list[str], nodes: list[Database]
) -> None:
    """Even without the wait no decision uses an old generation: the compare-and-swap detects it."""
    careless = open_engine(node_urls[1], settings=DatabaseSettings(wsrep_sync_wait=0))
    seen: list[int] = []

    def decide(connection: Connection, *, with_task: bool) -> None:
        generations = lock_pools(connection, {HOSTS})
        seen.append(generations[HOSTS])
        if with_task:
            connection.execute(insert(tasks), {"kind": "lease", "subject": "first", "attempts": 0})
        bump_pools(connection, generations)

    with ThreadPoolExecutor(1) as threads:
        # The table lock blocks the first decision at its task, so the node has not applied its pool update yet.
        with held_back(galera.nodes[1], "tasks", node_urls[1]):
            nodes[0].transact(partial(decide, with_task=True))
            late = threads.submit(Database(careless).transact, partial(decide, with_task=False))
            wait_for(lambda: len(seen) > 1 or late.done())
        late.result(60)
    careless.dispose()
    assert set(seen[:-1]) == {0}
    assert seen[-1] == 1
    assert [generation(db) for db in nodes] == [2, 2, 2]


def test_of_three_that_decide_at_once_each_sees_what_the_one_before_did(nodes: list[Database]) -> None:
    """The generation counts the leases: if two decisions had used the same one, there would be more leases."""
    barrier = threading.Barrier(len(nodes))

    def decide(connection: Connection) -> tuple[int, int]:
        generations = lock_pools(connection, {HOSTS})
        count = len(connection.execute(select(leases.c.id)).all())
        write(connection)
        bump_pools(connection, generations)
        return generations[HOSTS], count

    def run(db: Database) -> list[tuple[int, int]]:
        barrier.wait()
        return [db.transact(decide) for _ in range(ROUNDS)]

    with ThreadPoolExecutor(len(nodes)) as threads:
        decided = sorted(each for found in threads.map(run, nodes) for each in found)
    assert decided == [(number, number) for number in range(len(nodes) * ROUNDS)]


def test_a_task_is_claimed_through_one_node_only(nodes: list[Database]) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    rows = [
        {"kind": "lease", "subject": f"task-{n}", "due_at": now - timedelta(seconds=1), "attempts": 0}
        for n in range(ROUNDS * 3)
    ]
    nodes[0].transact(lambda connection: connection.execute(insert(tasks), rows))
    barrier = threading.Barrier(len(nodes))

    def claim_all(number: int) -> list[str]:
        barrier.wait()
        won: list[str] = []
        for turn in range(1000):
            claim = partial(claim_tasks, claimer=f"{number}-{turn}", now=now, lasts=timedelta(hours=1), most=5)
            claims = nodes[number].transact(claim)
            if not claims:
                return won
            won += [each.subject for each in claims]
        return won

    with ThreadPoolExecutor(len(nodes)) as threads:
        won = [subject for found in threads.map(claim_all, range(len(nodes))) for subject in found]
    assert sorted(won) == sorted(str(row["subject"]) for row in rows)


def test_a_transaction_that_a_cut_off_node_would_not_roll_back_is_never_committed(
    galera: GaleraCluster, nodes: list[Database]
) -> None:
    """Such a node refuses ROLLBACK too, so the transaction stays open in the connection."""
    lost: list[str] = []

    def work(connection: Connection) -> None:
        lost.append(write(connection).id)
        galera.nodes[2].cut_off()
        galera.nodes[2].wait_until(synced=False)
        raise ZeroDivisionError

    with pytest.raises((ZeroDivisionError, OperationalError)):
        nodes[2].transact(work)
    galera.mend()
    made = {nodes[2].transact(write).id for _ in range(5)}
    for db in nodes:
        assert names(db) == made
    assert lost


def test_a_node_that_is_cut_off_during_a_commit_leaves_the_outcome_open(
    galera: GaleraCluster, nodes: list[Database]
) -> None:
    tried: list[str] = []

    def work(connection: Connection) -> None:
        tried.append(write(connection).id)
        galera.nodes[2].cut_off()

    with pytest.raises(UnknownOutcomeError):
        nodes[2].transact(work)
    assert len(tried) == 1
    galera.mend()
    assert names(nodes[0]) == names(nodes[1]) == names(nodes[2])


def test_a_node_that_knows_it_is_cut_off_refuses_at_once(galera: GaleraCluster, nodes: list[Database]) -> None:
    nodes[2].transact(write)
    galera.nodes[2].cut_off()
    galera.nodes[2].wait_until(synced=False)
    for ask in (lambda: nodes[2].transact(write), lambda: names(nodes[2])):
        with pytest.raises(OperationalError, match="1047"):
            ask()


def test_two_upgrades_through_two_nodes_leave_one_schema(node_urls: list[str]) -> None:
    upgrades = [
        subprocess.Popen(
            [BIN / "leasehold-manage", "--database-url", url, "db", "upgrade"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for url in node_urls
    ]
    said = [each.communicate(timeout=180)[0] for each in upgrades]
    assert [each.returncode for each in upgrades] == [0, 0, 0], said
    for url in node_urls:
        engine = open_engine(url)
        schema.check(engine)
        engine.dispose()


def test_every_table_has_a_primary_key(nodes: list[Database]) -> None:
    """Galera cannot distinguish the rows of a table without a primary key."""
    query = (
        "SELECT t.table_name FROM information_schema.tables t LEFT JOIN information_schema.table_constraints c "
        "ON c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.constraint_type = 'PRIMARY KEY' "
        "WHERE t.table_schema = DATABASE() AND c.constraint_name IS NULL"
    )
    with nodes[0].reading() as connection:
        assert connection.execute(text(query)).all() == []
