"""Requests that wait for an event: they have a connection, and neither a permit nor a thread."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import ExitStack, contextmanager
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests

from leasehold.db.engine import open_engine, writing
from leasehold.db.event_log import sequence
from tests.load.conftest import WITHIN, ask, serving
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Program

pytestmark = pytest.mark.slow

CROWD = 60
"""Requests that wait at the same time: many more than the process has threads for requests."""
WAIT = 60


class Poll:
    """A client that waits for events on a connection of its own."""

    def __init__(self, api: Program, project: str, query: str) -> None:
        where = urlsplit(api.url)
        self._socket = socket.create_connection((where.hostname, where.port), timeout=WITHIN)
        headers = [f"Host: {where.netloc}", f"X-Project-Id: {project}", "OpenStack-API-Version: reservation 1.2"]
        request = [f"GET {where.path}/events?{query} HTTP/1.1", *headers, "Connection: close", "", ""]
        self._socket.sendall("\r\n".join(request).encode())

    def answer(self) -> tuple[int, Any]:
        """Return status and body of the answer, once it has come."""
        text = b""
        while piece := self._socket.recv(65536):
            text += piece
        head, _, body = text.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)

    def leave(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()


@contextmanager
def polling(api: Program, number: int) -> Iterator[list[Poll]]:
    """Yield clients of two projects that wait for their first event."""
    with ExitStack() as stack:
        polls = []
        for each in range(number):
            polls.append(Poll(api, ("demo", "alt")[each % 2], f"wait={WAIT}"))
            stack.callback(polls[-1].leave)
            if each % 10 == 0:
                # Not all at once: those that have not begun to wait need a permit.
                requests.get(f"{api.url}/leases", timeout=WITHIN).raise_for_status()
        yield polls


def put_in_order(database_url: str) -> None:
    """Do what the sequencer of a manager does."""
    engine = open_engine(database_url)
    with writing(engine) as connection:
        sequence(connection, 500)
        connection.commit()
    engine.dispose()


def threads_of(api: Program) -> int:
    return len(list(Path(f"/proc/{api.process.pid}/task").iterdir()))


def test_who_waits_has_no_thread_and_is_answered_when_something_happens(file_url: str) -> None:
    with serving(file_url, threads=2, max_waiting=20) as api:
        before = threads_of(api)
        with polling(api, CROWD) as polls:
            # Others are answered beside them: not one of the few permits and threads is taken.
            for number in range(3):
                assert ask(api, number).status_code == 201
            assert threads_of(api) <= before + 1
            put_in_order(file_url)
            shown = [each.answer() for each in polls[::2]]
            assert {status for status, _ in shown} == {200}
            assert {len(body["events"]) for _, body in shown} == {3}
            # Nothing happened in the other project.
            assert select(polls[1::2], [], [], 0)[0] == []
            for each in polls[1 : CROWD // 2]:
                each.leave()
            requests.get(f"{api.url}/leases", timeout=WITHIN).raise_for_status()


def test_who_waits_is_answered_when_the_process_stops(file_url: str) -> None:
    with serving(file_url, threads=2) as api, polling(api, 10) as polls:
        api.process.send_signal(signal.SIGTERM)
        answers = [each.answer() for each in polls]
        assert [(status, body["events"]) for status, body in answers] == [(200, [])] * 10
        assert api.process.wait(WITHIN) == 0


def test_too_many_of_one_project_are_answered_at_once(file_url: str) -> None:
    """Four may wait, two of each project; the others have their answer."""
    with serving(file_url, threads=2, max_event_waits=4) as api, polling(api, 8) as polls:
        ready: list[Any] = []

        def answered() -> bool:
            ready[:] = select(polls, [], [], 0)[0]
            return len(ready) == 4

        wait_for(answered)
        assert [each.answer() for each in ready] == [(200, {"events": [], "next": "0-0000000000000000"})] * 4
