"""How long a bystander's create takes while another project does its worst, beside idle, in one run.

Each attack runs in a process of its own, over some connections that never pause; the bystander asks for one lease after
the other, of hosts that nobody else wants. Idle is measured right before each attack.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import HOST, INSTANCE, host_lease, lease
from bench.figures import percentile
from bench.fill import filled, first_day
from bench.row import Row
from tests.processes import running
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOSTS: Final = 1_000
CONNECTIONS: Final = 4
TIMES: Final = 300
WARM: Final = 10
PAUSE_SECONDS: Final = 0.01
RATIO: Final = 5.0
DELETES: Final = 3
"""How often each lease is deleted."""
SETTLE_SECONDS: Final = 1.0
"""How long an attack goes on before the bystander is timed."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure every attack on MariaDB, with one API and one manager; quick: a tenth of the requests."""
    return [row for name in ATTACKS for row in measure(name, TIMES // 10 if quick else TIMES)]


def measure(name: str, times: int) -> list[Row]:
    """Measure one attack on a new database."""
    attack = ATTACKS[name]
    with new_database("mariadb") as url:
        filled(url, HOSTS)
        with (
            running("leasehold-api", database_url=url, options=attack.options) as api,
            running("leasehold-manager", database_url=url),
            Client(api.url, {**VERSION_1_1, **headers("bystander")}) as client,
        ):
            numbers = count()
            _p99(client, numbers, WARM)
            idle = _p99(client, numbers, times)
            with _attacked(name, api.url):
                busy = _p99(client, numbers, times)
    what = f"create of a bystander while {attack.title}, p99"
    return [Row(what, 1000 * busy, "ms", RATIO * 1000 * idle, 1000 * idle, "idle")]


def headers(project: str) -> dict[str, str]:
    """Return what makes a request one of this project, for an API without identity."""
    return {"X-Project-Id": project, "X-Roles": "member,reader"}


def _p99(client: Client, numbers: Iterator[int], times: int) -> float:
    """Ask for so many leases, each in an hour of its own, and return the p99 in seconds."""
    taken = []
    for number in (next(numbers) for _ in range(times)):
        start = first_day() + timedelta(hours=number)
        body = host_lease("bystander", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO))
        taken.append(client.ask("POST", "/leases", body).expect(201).seconds)
        time.sleep(PAUSE_SECONDS)
    return percentile(taken, 99)


@contextmanager
def _attacked(name: str, url: str) -> Iterator[None]:
    """Let the attack go on in another process until the block ends."""
    process = multiprocessing.get_context("spawn").Process(target=_attack, args=(name, url), daemon=True)
    process.start()
    try:
        time.sleep(SETTLE_SECONDS)
        if not process.is_alive():
            message = f"The attack {name!r} ended by itself."
            raise RuntimeError(message)
        yield
    finally:
        process.terminate()
        process.join()


def _attack(name: str, url: str) -> None:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        for done in [threads.submit(_again_and_again, ATTACKS[name].begin(url)) for _ in range(CONNECTIONS)]:
            done.result()


def _again_and_again(act: Callable[[int], None]) -> None:
    for number in count():
        act(number)


@dataclass(frozen=True, slots=True)
class Attack:
    """What one project does on each of its connections: `begin(url)` returns what is done again and again.

    That takes how often it was done before. `options` are the API's, by section.
    """

    title: str
    begin: Callable[[str], Callable[[int], None]]
    options: dict[str, dict[str, object]] | None = None


# ---------------------------------------------------------------- what may be done


def _posting(body_of: Callable[[int], dict[str, Any]]) -> Callable[[str], Callable[[int], None]]:
    """Return the attack that posts these bodies as leases; what is answered does not matter to it."""

    def begin(url: str) -> Callable[[int], None]:
        client = Client(url, {**VERSION_1_1, **headers("attacker")})

        def post(number: int) -> None:
            client.ask("POST", "/leases", body_of(number)).expect(201, 400, 403, 409, 413, 429, 503)

        return post

    return begin


def _orderings(reservations: int, comparisons: int) -> Callable[[int], dict[str, Any]]:
    """Return bodies that compare every host's name with many texts, each time with others."""

    def body_of(number: int) -> dict[str, Any]:
        names = count(number * reservations * comparisons)
        parts = [{**HOST, "min": 1, "max": 1, "hypervisor_properties": expression(names)} for _ in range(reservations)]
        return _later("orderings", *parts)

    def expression(names: Iterator[int]) -> str:
        orderings = [["<", "$hypervisor_hostname", f"node-{next(names):020}"] for _ in range(comparisons)]
        return json.dumps(["or", *orderings, [">", "$hypervisor_hostname", "x"]], separators=(",", ":"))

    return body_of


def _sizes(reservations: int) -> Callable[[int], dict[str, Any]]:
    """Return bodies that ask for instances of many sizes, which nobody asked for before."""

    def body_of(number: int) -> dict[str, Any]:
        first = number * reservations
        sizes = ({"vcpus": 1 + (first + n) % 29, "memory_mb": 1 + (first + n) % 120_000} for n in range(reservations))
        return _later("sizes", *({**INSTANCE, **size} for size in sizes), {**HOST, "min": HOSTS, "max": HOSTS})

    return body_of


def _deletes(url: str) -> Callable[[int], None]:
    """Return the attack that makes a lease that starts now, and deletes it before its start is done, and again."""
    client = Client(url, {**VERSION_1_1, **headers("attacker")})

    def make_and_delete(_: int) -> None:
        end = (first_day() + timedelta(days=4000)).strftime(ISO)
        made = client.ask("POST", "/leases", lease("deleted", "now", end, {**HOST, "min": 1, "max": 1}))
        if made.expect(201, 403, 409, 503).status == 201:
            for _ in range(DELETES):
                client.ask("DELETE", f"/leases/{made.body['lease']['id']}").expect(204, 404, 503)

    return make_and_delete


def _health(url: str) -> Callable[[int], None]:
    """Return the attack of a client without an identity: it asks what needs none."""
    client = Client(url)

    def ask(_: int) -> None:
        client.ask("GET", "//healthcheck").expect(200)

    return ask


def _later(name: str, *parts: dict[str, Any]) -> dict[str, Any]:
    start = first_day() + timedelta(days=4000)
    return lease(name, start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO), *parts)


ATTACKS: Final = {
    "orderings": Attack("427 kB of orderings are asked for", _posting(_orderings(30, 250))),
    "orderings, allowed": Attack("as many orderings as allowed are asked for", _posting(_orderings(4, 250))),
    "sizes": Attack("a thousand new sizes are asked for", _posting(_sizes(999))),
    "sizes, allowed": Attack("as many new sizes as allowed are asked for", _posting(_sizes(99))),
    "deletes": Attack("leases that start now are deleted several times", _deletes),
    "health checks": Attack("strangers ask for the health check", _health),
}
"""By name; a test asks for each of them alone."""
