"""GET of the usage of a month by project, with 1,000,000 segments in that month, over HTTP on each database.

And POST of a lease of the project that has 100,000 of them, beside one that has none, in turn.

Each reservation has two hosts, of 100 projects: each start was late by some seconds, nine of ten used what they held,
and one of ten was given up early. The same is measured of the spans alone, before managers have summed the days.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode
from uuid import uuid5

from sqlalchemy import func, insert, literal, select

from bench.client import ISO, Client
from bench.deployment import host_lease, running
from bench.figures import percentile
from bench.fill import NAMESPACE, filled
from bench.row import Row
from leasehold.db.engine import open_engine, writing
from leasehold.db.store import Database
from leasehold.db.tables import segments
from leasehold.features.usage.model import Loss
from leasehold.features.usage.store import (
    PENDING,
    poll_of,
    usage_cursor,
    usage_days,
    usage_losses,
    usage_terms,
    usage_uses,
)
from leasehold.features.usage.summing import sum_days
from leasehold.model.resource import HOST
from leasehold.model.windows import to_seconds
from tests.servers import KINDS, new_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection, Engine, Table

SEGMENTS: Final = 1_000_000
COPIES: Final = 50
"""The month is made of so many equal parts, each a copy of the first at a later time."""
MONTH: Final = 30 * 86_400
HOSTS: Final = 1_000
PROJECTS: Final = 100
LENGTHS: Final = (900, 3_600, 4 * 3_600, 86_400)
TIMES: Final = 30
TIMES_OF_SPANS: Final = 3
BUDGET_MS: Final = 2_000.0
CACHE_MB: Final = 1_024
ADMIN: Final = {
    "X-User-Id": "admin",
    "X-Project-Id": "admin",
    "X-Roles": "admin,member,reader",
    "OpenStack-API-Version": "reservation 1.3",
}
ALL: Final = {"all_projects": "true"}
ASKED: Final = {
    "all projects, by project": {"group_by": "project", **ALL},
    "all projects, by project, from noon to noon": {"group_by": "project", **ALL},
    "all projects, by day": {"group_by": "day", **ALL},
}
ALSO_ASKED: Final = {
    "all projects, by user": {"group_by": "user", **ALL},
    "all projects, by resource": {"group_by": "resource", **ALL},
    "one project, by lease": {"group_by": "lease", "project_id": uuid5(NAMESPACE, "project 1").hex},
}
"""For which there is no goal: single resources and leases are not summed by day."""
WARM: Final = 10
POSTS: Final = 200
SLOWER: Final = 1.2
"""So much slower may a lease be of the project with the most segments, on a machine that does other things as well."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure on SQLite, MariaDB and PostgreSQL; quick: a fiftieth of the segments, on SQLite alone."""
    return [row for kind in (KINDS[:1] if quick else KINDS) for row in measure(kind, 1 if quick else COPIES)]


def measure(kind: str, copies: int) -> Iterator[Row]:
    """Yield the rows of one kind of database."""
    name = f"{SEGMENTS // COPIES * copies:,} segments, {kind}"
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=32)
    with new_database(kind, cache_mb=CACHE_MB) as url:
        filled(url, HOSTS)
        fill_month(url, to_seconds(start), copies)
        with running("leasehold-api", database_url=url) as api, Client(api.url, ADMIN) as client:
            for what, seconds in _asked(client, start, ASKED, TIMES_OF_SPANS):
                yield Row(f"Usage of a month of spans alone, {name}, {what}, p50", 1000 * percentile(seconds, 50), "ms")
            yield Row(f"Sums of the days of a month, {name}", _sum(url), "s")
            for what, seconds in _asked(client, start, ASKED, TIMES):
                yield Row(f"Usage of a month, {name}, {what}, p50", 1000 * percentile(seconds, 50), "ms")
                yield Row(f"Usage of a month, {name}, {what}, p99", 1000 * percentile(seconds, 99), "ms", BUDGET_MS)
            for what, seconds in _asked(client, start, ALSO_ASKED, TIMES_OF_SPANS):
                yield Row(f"Usage of a month, {name}, {what}, p50", 1000 * percentile(seconds, 50), "ms")
            many, none = _posts(api.url)
            what = f"POST a lease, a tenth of {name} in its project, p50"
            yield Row(what, many, "ms", SLOWER * none, none, "a project without any")


def _posts(url: str) -> tuple[float, float]:
    """Return how long a lease takes in the middle, in milliseconds, of the project with most segments and of a new one.

    One after the other, so that other load on the machine affects both alike.
    """
    projects = uuid5(NAMESPACE, "project 0").hex, uuid5(NAMESPACE, "project without segments").hex
    seconds: dict[str, list[float]] = {each: [] for each in projects}
    headers = [{**ADMIN, "X-Project-Id": each, "X-Roles": "member,reader"} for each in projects]
    with Client(url, headers[0]) as many, Client(url, headers[1]) as none:
        for number in range(WARM + POSTS):
            start = datetime.now(UTC) + timedelta(days=1, hours=2 * number)
            for client, project in zip((many, none), projects, strict=True):
                body = host_lease(f"post-{number}", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO))
                seconds[project].append(client.ask("POST", "/leases", body).expect(201).seconds)
    first, second = (1000 * percentile(seconds[each][WARM:], 50) for each in projects)
    return first, second


def _asked(
    client: Client, start: datetime, questions: Mapping[str, Mapping[str, str]], times: int
) -> Iterator[tuple[str, list[float]]]:
    """Yield how long each answer took, by what was asked."""
    for what, asked in questions.items():
        begin = start + timedelta(hours=12 if "noon" in what else 0)
        window = {"from": begin.strftime(ISO), "to": (begin + timedelta(seconds=MONTH)).strftime(ISO)}
        path = f"/usage?{urlencode({**window, **asked})}"
        client.ask("GET", path).expect(200)
        yield what, [client.ask("GET", path).expect(200).seconds for _ in range(times)]


def _sum(url: str) -> float:
    """Sum all days as a manager does, and return how many seconds that took."""
    engine = open_engine(url)
    begin = perf_counter()
    sum_days(Database(engine), datetime.now(UTC))
    lasted = perf_counter() - begin
    _know(engine)
    engine.dispose()
    return lasted


def fill_month(url: str, start: int, copies: int) -> None:
    """Write a month of segments, terms, losses and uses to a database."""
    engine = open_engine(url)
    part = MONTH // COPIES
    with writing(engine) as connection:
        _fill_part(connection, start, part)
        for copy in range(1, copies):
            for table in (segments, usage_terms, usage_losses, usage_uses):
                _copy(connection, table, copy, part)
        cursor = {"name": poll_of(HOST), "since": start - MONTH, "position": start + MONTH}
        connection.execute(insert(usage_cursor), cursor)
        connection.commit()
    _know(engine)
    engine.dispose()


def _fill_part(connection: Connection, start: int, part: int) -> None:
    dice, now = Random(1), datetime.now(UTC)
    rows: dict[Any, list[dict[str, Any]]] = {table: [] for table in (segments, usage_terms, usage_losses, usage_uses)}
    for number in range(SEGMENTS // COPIES // 2):
        begin = start + dice.randrange(part)
        end = begin + dice.choice(LENGTHS)
        own = {
            "lease_id": f"00-lease-{number:027}",
            "reservation_id": f"00-part-{number:028}",
            # One of them has a tenth of all.
            "project_id": uuid5(NAMESPACE, f"project {number % PROJECTS if number % 10 else 0}").hex,
            "user_id": uuid5(NAMESPACE, f"user {number % (10 * PROJECTS)}").hex,
            "resource_type": HOST,
        }
        window = {"starts_at": begin, "ends_at": end}
        known = {"amount": 2, "missing": 0, "delivered_at": begin + 3, "told_at": end, "over_at": end}
        unused = None if number % 10 else PENDING
        rows[usage_terms].append({**own, **window, **known, "unused": unused})
        lost = [(Loss.LATE, begin, begin + 3), *([(Loss.GIVEN_UP, end, end + 600)] if number % 10 == 1 else [])]
        rows[usage_losses] += [
            {**own, "state": state, "amount": 2, "starts_at": since, "ends_at": until} for state, since, until in lost
        ]
        for each in range(2):
            place = (2 * number + each) % HOSTS
            held = {**own, "resource_number": place, "resource": f"compute-{place}"}
            rows[segments].append({**held, **window, "slots": 1, "written_at": now})
            if number % 10:
                rows[usage_uses].append({**held, "amount": 1, "starts_at": begin + 60, "ends_at": end - 300})
    for table, some in rows.items():
        connection.execute(insert(table), some)


def _copy(connection: Connection, table: Table, copy: int, part: int) -> None:
    """Copy the first part of the month to another place: with other ids, and so much later."""
    changed: dict[str, Any] = {}
    for column in table.columns:
        if column.name in ("lease_id", "reservation_id"):
            changed[column.name] = literal(f"{copy:02}-") + func.substr(column, 4)
        elif column.name.endswith("_at") and column.name != "written_at":
            changed[column.name] = column + copy * part
        elif column.name not in ("id", "lasts"):
            changed[column.name] = column
    first = table.c.lease_id.like("00-%")
    connection.execute(insert(table).from_select(list(changed), select(*changed.values()).where(first)))


def _know(engine: Engine) -> None:
    """Let the database count its rows, as its own job does on a server that has run for a while."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in (segments, usage_terms, usage_losses, usage_uses, usage_days):
            word = {"postgresql": "VACUUM ANALYZE", "sqlite": "ANALYZE"}.get(connection.dialect.name, "ANALYZE TABLE")
            connection.exec_driver_sql(f"{word} {table.name}")
