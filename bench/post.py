"""POST of a lease over HTTP on MariaDB with durable commits, beside the least that such a request could cost.

The least is a trivial authenticated request, plus one durable commit of the same rows by the bare driver. All three
are taken in turn in one loop, so that whatever else the machine does hits all of them alike.
"""

from __future__ import annotations

import tempfile
import time
from base64 import b64encode
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import bcrypt
import pymysql
from pymysql.cursors import DictCursor
from sqlalchemy import make_url

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import host_lease
from bench.figures import percentile
from bench.fill import filled, first_day
from bench.row import Row
from tests.processes import running
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTS: Final = 100
WARM: Final = 20
TIMES: Final = 300
RATIO: Final = 3.0
PASSWORD: Final = b"benchmark"
TABLES: Final = ("leases", "reservations", "events", "allocations", "tasks", "outbox")
COUNTED: Final = frozenset({"allocations", "tasks", "outbox"})
"""Tables whose keys the database counts up."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure requests of one client, one after the other."""
    posts, trivials, commits = [], [], []
    with new_database("mariadb") as url, _api(url) as client, _committer(url) as committer:
        for number in range(WARM + (TIMES // 5 if quick else TIMES)):
            trivials.append(client.ask("GET", "//versions").expect(300).seconds)
            start = first_day() + timedelta(hours=number)
            body = host_lease(f"post-{number}", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO))
            answer = client.ask("POST", "/leases", body).expect(201)
            posts.append(answer.seconds)
            commits.append(committer.again(answer.body["lease"]["id"]))
    post, trivial, commit = (1000 * percentile(each[WARM:], 50) for each in (posts, trivials, commits))
    least = trivial + commit
    return [
        Row("trivial authenticated request, MariaDB, p50", trivial, "ms"),
        Row("durable commit of a lease's rows by the bare driver, MariaDB, p50", commit, "ms"),
        Row("POST a lease, MariaDB, p50", post, "ms", RATIO * least, least, "request + commit"),
        Row("POST a lease, MariaDB, p99", 1000 * percentile(posts[WARM:], 99), "ms"),
    ]


@contextmanager
def _api(url: str) -> Iterator[Client]:
    """Run an API with passwords on a database with hosts."""
    filled(url, HOSTS)
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        users = Path(folder) / "users"
        users.write_text(f"bench:{bcrypt.hashpw(PASSWORD, bcrypt.gensalt(4)).decode()}:demo:member,admin\n")
        options = {"api": {"auth_strategy": "http_basic", "users_file": users}}
        token = b64encode(b"bench:" + PASSWORD).decode()
        with (
            running("leasehold-api", database_url=url, options=options) as api,
            Client(api.url, {**VERSION_1_1, "Authorization": f"Basic {token}"}) as client,
        ):
            yield client


class Committer:
    """Writes the rows of a lease once more, under new names, in one transaction."""

    def __init__(self, connection: pymysql.Connection[DictCursor]) -> None:
        """Write through this connection."""
        self._connection = connection

    def again(self, lease_id: str) -> float:
        """Copy the lease and return the seconds from the first statement to the end of the commit."""
        rows = self._copied(lease_id)
        begun = time.perf_counter()
        with self._connection.cursor() as cursor:
            self._connection.begin()
            cursor.execute("UPDATE pools SET generation = generation + 1 WHERE name = 'hosts'")
            for table, values in rows.items():
                cursor.executemany(_insert(table, values[0]), [list(value.values()) for value in values])
            self._connection.commit()
        return time.perf_counter() - begun

    def _copied(self, lease_id: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows with other ids, and of a generation that no calendar will look at."""
        renamed: dict[Any, str] = {}
        copies = {}
        with self._connection.cursor() as cursor:
            for table in TABLES:
                column = {"leases": "id", "tasks": "subject"}.get(table, "lease_id")
                cursor.execute(f"SELECT * FROM {table} WHERE {column} = %s", [lease_id])  # noqa: S608 - names of ours
                rows: list[dict[str, Any]] = list(cursor.fetchall())
                for row in rows:
                    if table in COUNTED:
                        del row["id"]
                    else:
                        renamed[row["id"]] = str(uuid4())
                    if table == "allocations":
                        row["generation"] = 0
                copies[table] = [{key: renamed.get(value, value) for key, value in row.items()} for row in rows]
        self._connection.commit()
        return copies


def _insert(table: str, row: dict[str, Any]) -> str:
    names = ", ".join(f"`{name}`" for name in row)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(row))})"  # noqa: S608 - names of ours


@contextmanager
def _committer(url: str) -> Iterator[Committer]:
    parts = make_url(url)
    connection = pymysql.connect(
        host=parts.host,
        port=parts.port or 0,
        user=parts.username,
        database=parts.database,
        charset="utf8mb4",
        cursorclass=DictCursor,
    )
    with connection:
        yield Committer(connection)
