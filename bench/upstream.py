"""Our figures in the situations for which the issues of Blazar name a figure, on two cores with MariaDB.

A ratio here compares with a figure that others measured on another machine, so it shows orders of magnitude only.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from bench.client import ISO, VERSION_1_1, Answer, Client
from bench.deployment import INSTANCE, host_lease, lease, running
from bench.due import create
from bench.figures import percentile
from bench.fill import BUSY, CELL, filled, first_day
from bench.row import Row
from bench.watch import seconds_until_active
from tests.servers import running_mariadb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.servers import Server

TIMES: Final = 20
DAYS: Final = 20
"""How many days the filled leases span: each host has one lease a day."""
AT_ONCE: Final = 15
UPSTREAM: Final = "upstream's"


def run(*, quick: bool = False) -> list[Row]:
    """Measure all situations on one server; quick: without the large ones."""
    rows: list[Row] = []
    with running_mariadb() as server:
        rows += _alone(server, 5, 0, 2_000.0)
        if not quick:
            rows += _alone(server, 200, 4_000, 3_900.0)
            rows += _alone(server, 1_000, 20_000, 11_500.0, lists=True)
        rows += _ten_at_once(server)
        rows += _crowd(server)
    return rows


def _alone(server: Server, hosts: int, leases: int, upstream_ms: float, *, lists: bool = False) -> list[Row]:
    """Measure one client that creates leases, and with `lists` one that lists them."""
    url = server.create_database()
    filled(url, hosts, leases)
    where = f"{hosts:,} hosts, {leases:,} future leases"
    with running("leasehold-api", database_url=url) as api, Client(api.url, VERSION_1_1) as client:
        post = _p50(_post(client, host_lease("h", *_free_window(n))) for n in range(TIMES))
        rows = [Row(f"POST a host lease, {where}, p50", post, "ms", None, upstream_ms, UPSTREAM)]
        if not leases:
            instance = _p50(_post(client, lease("i", *_free_window(n), INSTANCE)) for n in range(TIMES))
            rows.append(Row(f"POST an instance lease, {where}, p50", instance, "ms", None, 2_600.0, UPSTREAM))
        if lists:
            for path, what, theirs in (("/leases", "20,000 leases", 11_300.0), ("/os-hosts", "1,000 hosts", 3_400.0)):
                took = _p50(client.ask("GET", path).expect(200) for _ in range(4))
                rows.append(Row(f"list {what}, p50", took, "ms", None, theirs, UPSTREAM))
    server.drop_database(url)
    return rows


def _free_window(number: int) -> tuple[str, str]:
    """Return a window in which every filled host is free."""
    start = first_day() + number % DAYS * CELL + BUSY
    return start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO)


def _post(client: Client, body: dict[str, Any]) -> Answer:
    return client.ask("POST", "/leases", body).expect(201)


def _p50(answers: Iterable[Answer]) -> float:
    """Return the p50 in milliseconds, without the first answer, which loads the calendar."""
    return 1000 * percentile([answer.seconds for answer in answers][1:], 50)


def _ten_at_once(server: Server) -> list[Row]:
    url = server.create_database()
    filled(url, 10)
    with running("leasehold-standalone", database_url=url) as program, Client(program.url, VERSION_1_1) as client:
        due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=6)
        last = max(seconds_until_active(url, dict.fromkeys(create(client, [due] * 10), due)).values())
    server.drop_database(url)
    return [Row("ten leases due at once: the last one active after", last, "s", None, 59.0, UPSTREAM)]


def _crowd(server: Server) -> list[Row]:
    """Measure 15 simultaneous requests for one of 5 hosts: first so that all fit, then all for the same hour."""
    url = server.create_database()
    filled(url, 5)
    with running("leasehold-api", database_url=url) as api:
        apart = _granted(api.url, lambda n: _free_window(n // 5))
        same = _granted(api.url, lambda _: _free_window(DAYS - 1))
    server.drop_database(url)
    return [
        Row(
            f"{AT_ONCE} simultaneous requests on 5 hosts that all fit: granted",
            apart,
            "",
            AT_ONCE,
            10,
            UPSTREAM,
            exact=True,
        ),
        Row(f"{AT_ONCE} simultaneous requests for the same hour of 5 hosts: granted", same, "", 5, exact=True),
    ]


def _granted(url: str, window: Callable[[int], tuple[str, str]]) -> int:
    barrier = threading.Barrier(AT_ONCE)

    def ask(number: int) -> int:
        with Client(url, VERSION_1_1) as client:
            client.ask("GET", "//versions").expect(300)
            barrier.wait(60)
            return client.ask("POST", "/leases", host_lease(f"crowd-{number}", *window(number))).expect(201, 409).status

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(ask, range(AT_ONCE))).count(201)
