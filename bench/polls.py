"""How long a create takes beside a thousand requests that wait for events, and what these cost in memory.

They are long polls of two other projects, each on a connection of its own; one that is answered asks again. The creates
are those of `bystander.py`, before and beside them, on the same machine in the same minutes.
"""

from __future__ import annotations

import resource
import socket
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from select import EPOLLIN, epoll
from threading import Event, Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from bench.attacks import MANAGER_STOPS
from bench.bystander import RATIO, WARM, Bystander
from bench.client import VERSION_1_1, Client
from bench.figures import percentile
from bench.fill import filled
from bench.row import Row
from tests.processes import running
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTS: Final = 1_000
POLLS: Final = 1_000
TIMES: Final = 300
WAIT_SECONDS: Final = 60
SETTLE_SECONDS: Final = 1.0
APART_SECONDS: Final = 0.01
NONE: Final = {"api": {"auth_strategy": "none"}}


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB, with one API and one manager; quick: a tenth of the requests."""
    times = TIMES // 10 if quick else TIMES
    with new_database("mariadb") as url:
        filled(url, HOSTS)
        with (
            running("leasehold-api", database_url=url, options=NONE) as api,
            running("leasehold-manager", database_url=url, options=MANAGER_STOPS),
            Client(api.url, {**VERSION_1_1, "X-Project-Id": "bystander", "X-Roles": "member,reader"}) as client,
        ):
            bystander = Bystander(client)
            bystander.ask(WARM)
            idle = bystander.ask(times)
            empty = _mebibytes(api.process.pid)
            with _polling(api.url, POLLS):
                full = _mebibytes(api.process.pid)
                busy = bystander.ask(times)
    what = f"create beside {POLLS:,} requests that wait for events"
    p99, beside = 1000 * percentile(busy, 99), 1000 * percentile(idle, 99)
    return [
        Row(f"{what}, p99", p99, "ms", RATIO * beside, beside, "idle"),
        Row(f"{what}, p50", 1000 * percentile(busy, 50), "ms", None, 1000 * percentile(idle, 50), "idle"),
        Row(f"{POLLS:,} requests that wait for events: memory of the API", full, "MiB", None, empty, "without"),
    ]


def _mebibytes(pid: int) -> float:
    """Return the resident memory of a process."""
    (line,) = [each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


@contextmanager
def _polling(url: str, number: int) -> Iterator[None]:
    """Let `number` clients wait for events during the block."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(most, 4 * number)), most))
    where, stop = urlsplit(url), Event()
    with ExitStack() as stack:
        ready = stack.enter_context(epoll())
        polls: dict[int, tuple[socket.socket, bytes]] = {}
        for each in range(number):
            one = stack.enter_context(socket.create_connection((where.hostname or "", where.port or 0)))
            head = f"Host: {where.netloc}\r\nX-Project-Id: poller-{each % 2}\r\nOpenStack-API-Version: reservation 1.2"
            request = f"GET {where.path}/events?wait={WAIT_SECONDS} HTTP/1.1\r\n{head}\r\n\r\n".encode()
            polls[one.fileno()] = one, request
            ready.register(one, EPOLLIN)
            one.sendall(request)
            # A client comes every ten milliseconds: before they wait they need a permit, like others.
            time.sleep(APART_SECONDS)

        def repeat() -> None:
            while not stop.is_set():
                for file, _ in ready.poll(0.2):
                    one, request = polls[file]
                    answer = one.recv(65536)
                    if b" 200 " not in answer[:20]:
                        message = f"A request that waits for events was refused: {answer[:400]!r}"
                        raise RuntimeError(message)
                    one.sendall(request)

        asking = Thread(target=repeat)
        asking.start()
        time.sleep(SETTLE_SECONDS)
        try:
            yield
        finally:
            alive = asking.is_alive()
            stop.set()
            asking.join()
        if not alive:
            message = "The clients that wait have ended by themselves."
            raise RuntimeError(message)
