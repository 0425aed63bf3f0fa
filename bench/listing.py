"""Listing leases: SQL statements, and milliseconds over HTTP for 100, 1,000 and 10,000 of them.

On every database the processor time of a long list is compared with what the bare driver needs for the same rows, and
the fastest JSON writer for the same bytes. The objects of a list are compared with those that their constructor makes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from operator import attrgetter
from time import process_time
from typing import TYPE_CHECKING, Final

import orjson
from sqlalchemy import create_engine, select, update

from bench.client import Client
from bench.deployment import running
from bench.figures import percentile
from bench.fill import filled
from bench.inside import inside
from bench.row import Point, Row
from leasehold.cmd.memory import keep_what_is_loaded
from leasehold.db.leases.lease_parts import events_of
from leasehold.db.tables import events, leases, reservations
from leasehold.model.lease import Event
from leasehold.model.states import EventStatus, EventType
from tests.servers import KINDS, new_database, running_mariadb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.inside import Inside
    from leasehold.model.lease import EventFields
    from tests.servers import Server

SIZES: Final = (100, 1_000, 10_000)
BUDGETED: Final = 1_000
HOSTS: Final = 100
STATEMENTS: Final = 4
MILLISECONDS: Final = 40.0
TIMES: Final = {100: 30, 1_000: 30, 10_000: 5}
MANY: Final = 20_000
LEAST_TIMES: Final = 2.5
"""How many times the processor time of the bare driver and the JSON writer a list may take."""
REPEATED: Final = 9


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB, one client, and against the driver on every database; quick: 1,000 leases alone."""
    with running_mariadb() as server:
        served = [
            row
            for count in ((BUDGETED,) if quick else SIZES)
            for row in _measure(server, count, 5 if quick else TIMES[count])
        ]
    return [*served, *(_compare(kind, BUDGETED if quick else MANY) for kind in KINDS), _make(BUDGETED)]


def _compare(kind: str, count: int) -> Row:
    """Return how much processor time of this process a list takes; the servers' own is not in it."""
    with new_database(kind) as url:
        filled(url, HOSTS, count)
        with inside(url) as api:
            api.ask("GET", "/leases")
            keep_what_is_loaded()
            listed = _least(lambda: api.ask("GET", "/leases"))
            fetched = _least(lambda: _fetch(api))
            document = orjson.loads(api.ask("GET", "/leases").content)
            bare = fetched + _least(lambda: orjson.dumps(document))
    name, against = f"list {count:,} leases, {kind}, processor time", "the bare driver and JSON writer"
    return Row(name, 1000 * listed, "ms", LEAST_TIMES * 1000 * bare, 1000 * bare, against)


def _make(count: int) -> Row:
    """Return how much processor time the events of a list take, set field by field (`db/columns/opened`)."""
    now, undone = datetime.now(UTC), EventStatus.UNDONE
    found = [
        [(f"{number}", "lease", kind, now, undone.value, now, now) for kind in EventType] for number in range(count)
    ]
    of_value = {each.value: each for each in EventStatus}

    def construct(values: EventFields) -> Event:
        one, lease, kind, time, status, created_at, updated_at = values
        return Event(one, lease, kind, time, of_value[status or ""], created_at, updated_at)

    by_time = attrgetter("time")
    constructed = _least(lambda: [tuple(sorted(map(construct, each), key=by_time)) for each in found])
    made = _least(lambda: [events_of(moments) for moments in found])
    return Row(
        f"events of {count:,} leases, processor time",
        1000 * made,
        "ms",
        None,
        1000 * constructed,
        "the constructor",
    )


def _least(act: Callable[[], object]) -> float:
    """Return the least processor time of several tries: other programs only add to it."""
    seconds = []
    for _ in range(REPEATED):
        begun = process_time()
        act()
        seconds.append(process_time() - begun)
    return min(seconds)


def _fetch(api: Inside) -> None:
    """Fetch the rows of the list from the driver, without SQLAlchemy."""
    live = select(leases).where(leases.c.deleted_at.is_(None)).order_by(leases.c.created_at, leases.c.id)
    parts = [select(table).order_by(table.c.lease_id) for table in (reservations, events)]
    with api.service.db.reading() as connection:
        cursor = connection.connection.cursor()
        for query in (live, *parts):
            cursor.execute(str(query.compile(connection.engine)))
            cursor.fetchall()
        cursor.close()


def _measure(server: Server, count: int, times: int) -> Iterator[Row]:
    url = server.create_database()
    filled(url, HOSTS, count)
    with inside(url) as api:
        api.ask("GET", "/leases")
        statements = len(api.statements)
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with (
        running("leasehold-api", database_url=url) as api_process,
        Client(api_process.url) as client,
        engine.connect() as connection,
    ):
        read = []
        for _ in range(times + 1):
            connection.execute(update(leases).values(generation=leases.c.generation + 1))
            read.append(client.ask("GET", "/leases").expect(200).seconds)
        lists = [client.ask("GET", "/leases").expect(200).seconds for _ in range(times)]
        trivials = [client.ask("GET", "//versions").expect(300).seconds for _ in range(times + 1)][1:]
    engine.dispose()
    server.drop_database(url)
    budgets = (STATEMENTS, MILLISECONDS) if count == BUDGETED else (None, None)
    trivial = 1000 * percentile(trivials, 50)
    yield Row(f"list {count:,} leases, SQL statements", statements, "", budgets[0])
    for what, found in (("", lists), (", all of which have changed", read[1:])):
        p50, point = 1000 * percentile(found, 50), Point("list", f"GET /leases{what}, p50", count)
        name = f"list {count:,} leases{what}, MariaDB"
        yield Row(f"{name}, p50", p50, "ms", budgets[1], trivial, "trivial requests", point=point)
        yield Row(f"{name}, highest", 1000 * max(found), "ms")
