"""Shutdown of our programs: every accepted request is answered, tasks in progress are finished, the rest is released.

A program that gets a stop signal during its start ends with 0 too, and leaves no claim.
"""

from __future__ import annotations

import itertools
import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests
from sqlalchemy import select

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.engine import open_engine, reading
from leasehold.db.tables import leases, refusals, tasks
from tests.load.conftest import HOST, VERSION, WITHIN, ask, crowd, enrol, no_decisions, serving, wanted
from tests.processes import running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from tests.processes import Program

pytestmark = pytest.mark.slow

CLIENTS = 4
ROUNDS = 2
UNLIMITED = {"enforcement": {"max_open_leases": -1}}
"""The clients may get as many leases as a slow machine gives them time for."""
LEASES = 6
FOREVER = 3600
"""Seconds until a claim expires: longer than the test, so another manager gets only tasks that were released."""


# ---------------------------------------------------------------- an API


def refuses(api: Program) -> bool:
    """Return whether the API refuses connections."""
    try:
        requests.get(f"{api.root}/healthcheck", timeout=WITHIN)
    except requests.ConnectionError:
        return True
    return False


@pytest.mark.servers
def test_who_was_let_in_is_answered_and_the_exit_is_clean(url: str) -> None:
    with serving(url, threads=2) as api, crowd(api) as clients:
        with no_decisions(url):
            clients.ask(6)
            wait_for(lambda: connections(api) >= 6, within=WITHIN)
            api.process.send_signal(signal.SIGTERM)
            wait_for(lambda: refuses(api), within=WITHIN)
            api.process.send_signal(signal.SIGTERM)
            api.process.send_signal(signal.SIGINT)
            assert api.process.poll() is None
        assert clients.statuses() == [201] * 6
        assert {answer.headers["Connection"] for answer in clients.answered()} == {"close"}
        assert api.process.wait(WITHIN) == 0


def connections(api: Program) -> int:
    """Return how many connections the process has accepted; each client of a crowd has one."""
    port = int(api.root.rpartition(":")[2])
    found = 0
    with open("/proc/net/tcp", encoding="ascii") as table:  # noqa: PTH123 - a file of the kernel, not of ours
        for line in list(table)[1:]:
            _, local, _, state, *_ = line.split()
            found += state == "01" and int(local.rpartition(":")[2], 16) == port
    return found


def test_after_its_time_it_ends_whatever_is_left(file_url: str) -> None:
    options = {"threads": 1, "max_waiting": 0, "shutdown_seconds": 0.5}
    with serving(file_url, **options) as api, crowd(api) as clients, no_decisions(file_url):
        clients.ask(2)
        # Once one request has been shed, the other one has the permit.
        wait_for(clients.answered, within=WITHIN)
        api.process.send_signal(signal.SIGTERM)
        assert api.process.wait(WITHIN) == 0
        assert "Stopped with 1 requests unanswered" in api.log.read_text()
        with pytest.raises(requests.ConnectionError):
            clients.statuses()


def test_a_balancer_learns_of_it_before_it_happens(file_url: str) -> None:
    with serving(file_url, shutdown_notice_seconds=2.0) as api:
        api.process.send_signal(signal.SIGTERM)
        health = []

        def draining() -> bool:
            health.append(requests.get(f"{api.root}/healthcheck", timeout=WITHIN))
            return health[-1].status_code == 503

        wait_for(draining, within=WITHIN)
        assert health[-1].json()["status"] == "draining"
        assert requests.get(f"{api.url}/leases", timeout=WITHIN).status_code == 200
        assert api.process.wait(WITHIN) == 0


def test_refusals_that_it_has_counted_are_written_when_it_ends(file_url: str) -> None:
    with serving(file_url) as api:
        many = {**wanted(1), "reservations": [{**HOST, "min": 99, "max": 99}]}
        assert requests.post(f"{api.url}/leases", json=many, headers=VERSION, timeout=WITHIN).status_code == 409
        api.process.send_signal(signal.SIGTERM)
        assert api.process.wait(WITHIN) == 0
    engine = open_engine(file_url)
    with reading(engine) as connection:
        (row,) = connection.execute(select(refusals))
    engine.dispose()
    assert (row.operation, row.refused) == ("create", 1)


class Visitor(threading.Thread):
    """A client that sends requests to all APIs in turn, and tries the next one only if the connection is refused."""

    def __init__(self, apis: list[Program], number: int) -> None:
        super().__init__()
        self._apis = apis
        self._number = number
        self._session = requests.Session()
        self.stop = threading.Event()
        self.granted: list[str] = []
        self.trouble: list[object] = []

    def run(self) -> None:
        for turn in itertools.count():
            if self.stop.is_set():
                self._session.close()
                return
            self._ask(turn)

    def _ask(self, turn: int) -> None:
        body = wanted(self._number * 1000 + turn)
        for api in [self._apis[(turn + each) % len(self._apis)] for each in range(len(self._apis))]:
            try:
                answer = self._session.post(f"{api.url}/leases", json=body, headers=VERSION, timeout=WITHIN)
            except requests.ConnectionError as error:
                if "Connection refused" in str(error):
                    continue
                self.trouble.append(error)
                return
            if answer.status_code == 201:
                self.granted.append(answer.json()["lease"]["id"])
            else:
                self.trouble.append(answer.text)
            return
        self.trouble.append("nobody listens")


@contextmanager
def visiting(apis: list[Program]) -> Iterator[list[Visitor]]:
    """Yield clients that send requests until the block ends, however it ends."""
    visitors = [Visitor(apis, number) for number in range(CLIENTS)]
    for visitor in visitors:
        visitor.start()
    try:
        yield visitors
    finally:
        for visitor in visitors:
            visitor.stop.set()
        for visitor in visitors:
            visitor.join()


def served(visitors: list[Visitor]) -> int:
    return sum(len(visitor.granted) for visitor in visitors)


def served_more(visitors: list[Visitor], than: int) -> bool:
    return served(visitors) > than


@pytest.mark.servers
def test_a_rolling_restart_loses_nothing(url: str) -> None:
    """Replace the APIs one by one while clients send requests; every request is answered exactly once."""
    another = partial(running, "leasehold-api", database_url=url, options=UNLIMITED)
    with ExitStack() as stack:
        apis = [stack.enter_context(another()) for _ in range(2)]
        enrol(apis[0])
        with visiting(apis) as visitors:
            for _ in range(ROUNDS):
                apis.append(stack.enter_context(another()))
                assert apis[0].stop() == 0
                wait_for(partial(served_more, visitors, served(visitors) + CLIENTS), within=WITHIN)
                del apis[0]
        assert [visitor.trouble for visitor in visitors] == [[]] * CLIENTS
        listed = requests.get(f"{apis[0].url}/leases", timeout=WITHIN).json()["leases"]
    assert {lease["id"] for lease in listed} == {each for visitor in visitors for each in visitor.granted}


# ---------------------------------------------------------------- a manager


def claimed(engine: Engine) -> int:
    with reading(engine) as connection:
        return len(connection.execute(select(tasks.c.id).where(tasks.c.claimed_by.is_not(None))).all())


def statuses(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return sorted(connection.execute(select(leases.c.status)).scalars())


def taken(pid: int) -> bool:
    """Return whether the process has no pending signal."""
    return "\nShdPnd:\t0000000000000000\n" in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.servers
@pytest.mark.parametrize(("latency", "allowed"), [(60_000, 0.5), (1_000, 60.0)])
def test_what_it_cannot_finish_is_taken_over_at_once(url: str, latency: int, allowed: float) -> None:
    options = {"manager": {"workers": 2, "claim_seconds": FOREVER, "shutdown_seconds": allowed}}
    engine = open_engine(url)
    cloud = sandbox(engine)
    with serving(url) as api:
        starts = datetime.now(UTC)
        assert [ask(api, number, starts=starts).status_code for number in range(LEASES)] == [201] * LEASES
    cloud.faults.set(Fault("aggregates.ensure", latency_ms=latency))
    with running("leasehold-manager", database_url=url, options=options) as first:
        # Both workers are busy, and two more tasks wait for one of them, with their steps begun.
        wait_for(lambda: statuses(engine).count("STARTING") == claimed(engine) == 4, within=WITHIN)
        for _ in range(2):  # Wait between the signals, or the kernel merges them.
            first.process.send_signal(signal.SIGTERM)
            wait_for(lambda: taken(first.process.pid))
        assert first.process.wait(WITHIN) == 0
        unfinished = "Stopped before the work was done" in first.log.read_text()
    assert unfinished is (latency > 1000 * allowed)
    assert claimed(engine) == 0
    cloud.faults.clear()
    with running("leasehold-manager", database_url=url, options=options):
        wait_for(lambda: statuses(engine) == ["ACTIVE"] * LEASES, within=WITHIN)
    engine.dispose()


# ---------------------------------------------------------------- during the start


def loads(program: Program) -> bool:
    """Return whether the program has begun to load its imports."""
    return "/sqlalchemy/" in Path(f"/proc/{program.process.pid}/maps").read_text()


@pytest.mark.parametrize(
    ("number", "after"),
    [*((signal.SIGTERM, after) for after in (0.0, 0.2, 0.5, 1.0, 2.0)), (signal.SIGINT, 0.2)],
)
@pytest.mark.parametrize("name", ["leasehold-api", "leasehold-manager", "leasehold-standalone"])
def test_a_service_that_is_stopped_while_it_starts_ends_with_0(
    name: str, number: signal.Signals, after: float, file_url: str
) -> None:
    """The delays are samples: on a slow machine all are within the start, on a fast one the last ones are not."""
    with running(name, database_url=file_url, healthy=False) as program:
        wait_for(lambda: loads(program), WITHIN)
        time.sleep(after)
        program.process.send_signal(number)
        assert program.process.wait(WITHIN) == 0, program.log.read_text()
    engine = open_engine(file_url)
    assert claimed(engine) == 0
    engine.dispose()
