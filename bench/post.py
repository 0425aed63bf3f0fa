"""POST of a lease over HTTP on MariaDB with durable commits, compared with the least possible cost of such a request.

That is the cost of a trivial authenticated request, plus one durable commit of the same rows by the bare driver. One
loop measures all three in turn, so that other load on the machine affects all of them alike.
"""

from __future__ import annotations

import tempfile
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import bcrypt

from bench.client import ISO, VERSION_1_1, Client
from bench.commit import committer
from bench.deployment import host_lease, running
from bench.figures import percentile
from bench.fill import BUSY, filled, first_day
from bench.row import Point, Row
from tests.servers import new_database, running_mariadb

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTS: Final = 100
WARM: Final = 20
TIMES: Final = 300
RATIO: Final = 3.0
LEAST: Final = "request + commit"
PASSWORD: Final = b"benchmark"
PRESENT: Final = (1_000, 10_000, 50_000)
"""The numbers of leases in the database for the points of the curve after the first, which has none."""
CURVE_HOSTS: Final = 500
CURVE_TIMES: Final = 60


def run(*, quick: bool = False) -> list[Row]:
    """Measure requests of one client, one after the other, on an empty calendar and with many leases present."""
    with new_database("mariadb") as url:
        filled(url, HOSTS)
        times = _measure(url, TIMES // 5 if quick else TIMES)
    rows = [
        Row("trivial authenticated request, MariaDB, p50", times.trivial, "ms"),
        Row("durable commit of a lease's rows by the bare driver, MariaDB, p50", times.commit, "ms"),
        Row("POST a lease, MariaDB, p50", times.post, "ms", RATIO * times.least, times.least, LEAST, point=_point(0)),
        Row("POST a lease, MariaDB, p99", times.post_p99, "ms"),
    ]
    return rows if quick else rows + list(_curve())


def least(times: int) -> float:
    """Return the least possible cost of a request that writes a lease, on this machine now, in milliseconds."""
    with new_database("mariadb") as url:
        filled(url, HOSTS)
        return _measure(url, times).least


def _curve() -> Iterator[Row]:
    """Yield the rows for more and more leases in the database."""
    with running_mariadb() as server:
        for present in PRESENT:
            url = server.create_database()
            filled(url, CURVE_HOSTS, present)
            times = _measure(url, CURVE_TIMES)
            server.drop_database(url)
            name = f"POST a lease, {present:,} leases present, MariaDB, p50"
            yield Row(name, times.post, "ms", RATIO * times.least, times.least, LEAST, point=_point(present))


def _point(present: int) -> Point:
    return Point("post", "POST a lease, p50", present)


@dataclass(frozen=True, slots=True)
class Times:
    """What was measured in one loop, in milliseconds."""

    post: float
    post_p99: float
    trivial: float
    commit: float

    @property
    def least(self) -> float:
        """The least possible cost of such a request."""
        return self.trivial + self.commit


def _measure(url: str, times: int) -> Times:
    posts, trivials, commits = [], [], []
    with _api(url) as client, committer(url) as bare:
        for number in range(WARM + times):
            trivials.append(client.ask("GET", "//versions").expect(300).seconds)
            # In the hours in which the filled hosts are free.
            start = first_day() + BUSY + timedelta(days=number // 3, hours=number % 3)
            body = host_lease(f"post-{number}", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO))
            answer = client.ask("POST", "/leases", body).expect(201)
            posts.append(answer.seconds)
            commits.append(bare.again(answer.body["lease"]["id"]))
    post, trivial, commit = (1000 * percentile(each[WARM:], 50) for each in (posts, trivials, commits))
    return Times(post, 1000 * percentile(posts[WARM:], 99), trivial, commit)


@contextmanager
def _api(url: str) -> Iterator[Client]:
    """Run an API with HTTP basic authentication."""
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
